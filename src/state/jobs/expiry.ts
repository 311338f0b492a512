/** Removes rows that are past their expiry; they stopped existing for readers at that very time. */
import { type Clock, sleep } from '../clock/clock.ts';
import { isStateError } from '../errors.ts';
import { treeOf } from '../memory/table-indexes.ts';
import type { State } from '../state.ts';
import { EXPIRY_INDEX, indexOf, type Stored, type Table } from '../table.ts';
import type { Transaction } from '../write/transaction.ts';
import type { Job } from './placement.ts';

/** Rows removed by one write. */
const BATCH_ROWS = 50;
/** The longest sleep: a clock that jumps, or a row that expires sooner than any before, is seen within it. */
const SLEEP_MS_MAX = 1_000;

/**
 * The job for one table. `onExpired` runs in the commit that removes the row (to write the audit log, say).
 */
export function expiryJob<Row>(
  state: State,
  table: Table<Row, string>,
  clock: Clock,
  onExpired: (tx: Transaction, stored: Stored<Row>) => void,
): Job {
  return {
    name: `expiry ${table.name}`,
    async run(signal) {
      let rowsMax = BATCH_ROWS;
      while (!signal.aborted) {
        const waitMs = nextExpiryMs(state, table) - clock.now();
        if (waitMs > 0) {
          await sleep(clock, Math.min(waitMs, SLEEP_MS_MAX), signal);
          continue;
        }
        try {
          await state.write(
            (tx) => {
              for (const stored of tx.expire(table, rowsMax)) onExpired(tx, stored);
            },
            { signal },
          );
        } catch (error) {
          // What `onExpired` adds is not known here, nor how little the store may take in one commit.
          if (!isStateError(error, 'too-large') || rowsMax === 1) throw error;
          rowsMax = Math.ceil(rowsMax / 2);
        }
      }
    },
  };
}

function nextExpiryMs<Row>(state: State, table: Table<Row, string>): number {
  const trees = state.snapshot.trees.get(table);
  if (trees === undefined) throw new TypeError(`table '${table.name}' is not in memory`);
  const entry = treeOf(trees, indexOf<unknown>(table as Table<unknown>, EXPIRY_INDEX)).minKey();
  return entry === undefined ? Number.POSITIVE_INFINITY : Number.parseInt(entry, 10);
}
