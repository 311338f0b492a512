/** A batch under construction: runs writes one after another, and reduces them to one final operation for each key. */

import type { Steps } from '../clock/slices.ts';
import type { Operation } from '../engine/engine.ts';
import type { RowChange } from '../row-change.ts';
import type { AnyTable, Stored } from '../table.ts';
import { type BatchBase, BatchChanges, type CountChange } from './batch-changes.ts';
import { createTransaction, type ReplayInputs, type RunningWrite, type Transaction } from './transaction.ts';

export interface Batch {
  /**
   * Runs `fn` and adds its changes.
   * @returns the result of `fn`
   * @throws the error of `fn`, after undoing its changes
   */
  run<T>(fn: (tx: Transaction) => T, replayInputs: ReplayInputs, now: number): T;
  /** Runs a large write as `run` does, and pauses whenever it pauses. No other write may run before it has ended. */
  runInSlices<T>(fn: (tx: Transaction) => Steps<T>, replayInputs: ReplayInputs, now: number): Steps<T>;
  /** Undoes the changes of the last run. */
  undo(): void;
  readonly operationCount: number;
  readonly bytes: number;
  /** The number of rows that the batch adds to memory. */
  readonly rowsAdded: number;
  /** The estimated memory that the batch adds to that of the rows. */
  readonly rowBytesAdded: number;
  /** The counts of rows that the last run changed. */
  countChanges(): Iterable<CountChange>;
  /** Returns a row in memory as it is after the last run, expired and orphaned rows included. */
  find(table: AnyTable, key: string): Stored<unknown> | undefined;
  operations(): Operation[];
  rowChanges(): RowChange[];
  /** Returns the state that the next batch builds on if this one is committed. No write can run after this call. */
  nextBase(): BatchBase;
}

export function createBatch(base: BatchBase): Batch {
  const changes = new BatchChanges(base);
  let running: RunningWrite | undefined;
  let nextBase: BatchBase | undefined;
  // One transaction serves all writes, because a batch runs one at a time.
  const tx = createTransaction(base, changes, () => {
    // A later change would modify tables that readers already use, and no commit would contain the change.
    if (running === undefined) throw new TypeError('a transaction was used after its write: writes are synchronous');
    return running;
  });

  const begin = (replayInputs: ReplayInputs, now: number): RunningWrite => {
    if (nextBase !== undefined) throw new TypeError('cannot run a write in a batch that another batch builds on');
    replayInputs.now ??= now;
    changes.beginWrite();
    return { replayInputs, now: replayInputs.now, memoizedCount: 0 };
  };

  return {
    run(fn, replayInputs, now) {
      running = begin(replayInputs, now);
      try {
        return fn(tx);
      } catch (error) {
        changes.undo();
        throw error;
      } finally {
        running = undefined;
      }
    },
    *runInSlices(fn, replayInputs, now) {
      const write = begin(replayInputs, now);
      running = write;
      try {
        const steps = fn(tx);
        for (let step = steps.next(); ; step = steps.next()) {
          if (step.done === true) return step.value;
          // While it pauses, no other code may use the transaction.
          running = undefined;
          yield;
          running = write;
        }
      } finally {
        running = undefined;
      }
    },
    undo: () => changes.undo(),
    get operationCount() {
      return changes.operationCount;
    },
    get bytes() {
      return changes.bytes;
    },
    get rowsAdded() {
      return changes.rowsAdded;
    },
    get rowBytesAdded() {
      return changes.rowBytesAdded;
    },
    countChanges: () => changes.countChanges(),
    find: (table, key) => changes.tableIndexes(table).rows.get(key),
    operations: () => changes.operations(),
    rowChanges: () => changes.rowChanges(),
    nextBase() {
      nextBase ??= changes.nextBase();
      return nextBase;
    },
  };
}
