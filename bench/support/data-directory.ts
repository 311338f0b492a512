/** Data directories with much in them, written below the server. */
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

/** A directory that a server can start on: its first credentials, and what `fill` writes. It goes when disposed. */
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

/** The state in a directory that no server is started on. */
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

/** Runs `write` with 0 up to `count`, many in one commit. */
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
