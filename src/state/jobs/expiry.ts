/** The jobs that delete expired rows. Readers stop seeing a row at its expiry time, before its job deletes it. */
import { type Clock, sleep } from '../clock/clock.ts';
import { isStateError } from '../errors.ts';
import type { Snapshot } from '../memory/snapshot.ts';
import { secondaryIndex } from '../memory/table-indexes.ts';
import { EXPIRY_INDEX, indexOf, type Stored, type Table } from '../table.ts';
import type { Transaction } from '../write/transaction.ts';
import type { JobWriter } from './orphan-removal.ts';
import type { Job } from './placement.ts';

const BATCH_ROWS = 50;
/** The longest sleep, which bounds the delay after a clock jump or for a row with an earlier expiry than all others. */
const SLEEP_MS_MAX = 1_000;

export interface ExpiryState extends JobWriter {
  readonly snapshot: Snapshot;
}

/** Returns the job that deletes a table's expired rows. `onExpired` runs in the same commit, for example to audit. */
export function expiryJob<Row>(
  state: ExpiryState,
  table: Table<Row, string>,
  clock: Clock,
  onExpired: (tx: Transaction, stored: Stored<Row>) => void,
): Job {
  return {
    name: `expiry ${table.name}`,
    async run(signal) {
      let rowsMax = BATCH_ROWS;
      while (!signal.aborted) {
        const waitMs = nextExpiryMs(state.snapshot, table) - clock.now();
        if (waitMs > 0) {
          await sleep(clock, Math.min(waitMs, SLEEP_MS_MAX), signal);
          continue;
        }
        try {
          await state.write(
            (tx) => {
              for (const stored of tx.deleteExpired(table, rowsMax)) onExpired(tx, stored);
            },
            { signal },
          );
        } catch (error) {
          // The number of operations is unknown beforehand: `onExpired` adds some, and the store may have a low limit.
          if (!isStateError(error, 'too-large') || rowsMax === 1) throw error;
          rowsMax = Math.ceil(rowsMax / 2);
        }
      }
    },
  };
}

/** Returns the earliest expiry time of a table in milliseconds since 1970, or infinity. */
function nextExpiryMs<Row>(snapshot: Snapshot, table: Table<Row, string>): number {
  const indexes = snapshot.tables.get(table);
  if (indexes === undefined) throw new TypeError(`table '${table.name}' is not in memory`);
  const entry = secondaryIndex(indexes, indexOf<unknown>(table as Table<unknown>, EXPIRY_INDEX)).minKey();
  return entry === undefined ? Number.POSITIVE_INFINITY : Number.parseInt(entry, 10);
}
