/** Creates data directories with many rows by writing to the state directly, without a server. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createFirstCredentials } from '../../src/credentials/first-credentials.ts';
import { SCHEMA } from '../../src/main/schema.ts';
import { systemClock } from '../../src/state/clock/clock.ts';
import { sqliteEngine } from '../../src/state/engine/sqlite/engine.ts';
import { State } from '../../src/state/state.ts';
import type { Transaction } from '../../src/state/write/transaction.ts';

export interface DataDirectory extends AsyncDisposable {
  readonly directory: string;
}

/** Creates a data directory with first credentials and the rows that `fill` writes. Disposal deletes it. */
export async function createDataDirectory(fill: (state: State) => Promise<void>): Promise<DataDirectory> {
  const directory = await mkdtemp(path.join(tmpdir(), 'accord-bench-'));
  await using state = await openState(directory);
  await createFirstCredentials({
    state,
    clock: systemClock,
    directory,
    address: 'http://127.0.0.1:8500',
    datacenter: 'dc1',
    presetSecrets: () => ({ aclToken: undefined, adminToken: undefined }),
  });
  await fill(state);
  return { directory, [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }) };
}

/** Opens the state in a data directory. No server may use the directory at the same time. */
export const openState = (directory: string): Promise<State> =>
  State.open({
    engine: sqliteEngine({ directory }),
    schema: SCHEMA,
    node: 'bench',
    clock: systemClock,
    rowsMax: 5_000_000,
    log: () => undefined,
  });

const ROWS_PER_WRITE = 5_000;

/** Calls `write` with 0 to `count` - 1, ROWS_PER_WRITE times in each transaction. */
export async function writeInBatches(
  state: State,
  count: number,
  write: (tx: Transaction, i: number) => void,
): Promise<void> {
  for (let first = 0; first < count; first += ROWS_PER_WRITE) {
    await state.write((tx) => {
      for (let i = first; i < Math.min(first + ROWS_PER_WRITE, count); i++) write(tx, i);
    });
  }
}
