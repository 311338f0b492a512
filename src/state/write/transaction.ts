/** The transaction of a write: reads of the batch so far, and changes to it. */

import { createReader, isAlive, ownersExist, type Reader, type ReaderSource } from '../memory/reader.ts';
import { secondaryIndex } from '../memory/table-indexes.ts';
import {
  type AnyTable,
  type DeepReadonly,
  EXPIRY_INDEX,
  expiryEntry,
  indexOf,
  type Stored,
  type Table,
} from '../table.ts';
import type { BatchBase, BatchChanges } from './batch-changes.ts';

export interface Transaction extends Reader {
  /** Milliseconds since 1970, the same in every run of the write. */
  readonly now: number;
  /** The index that the commit will have. */
  readonly index: number;
  /** The number of operations in the batch so far. With `index`, a unique and ascending key for each append. */
  readonly position: number;
  /** Returns `make`'s result from the first run, such as an ID. Every run must make its calls in the same order. */
  memoizeAcrossRetries<T>(make: () => T): T;
  /** Creates or replaces a row. @throws Error if an owner is missing, UniqueError; the caller checks both first */
  put<Row>(table: Table<Row, string>, row: DeepReadonly<Row>): Stored<Row>;
  /** Deletes the row under `key`, and hides everything that it owns. @returns whether the row existed */
  delete<Row>(table: Table<Row, string>, key: string): boolean;
  /** Adds a row to a store-only table. */
  append<Row>(table: Table<Row, string>, row: DeepReadonly<Row>): void;
  /** Deletes up to `limit` expired rows. @returns the deleted rows */
  deleteExpired<Row>(table: Table<Row, string>, limit: number): Stored<Row>[];
  /** Deletes an orphaned key from the store. Does nothing if a row in memory has the key. */
  purge(table: AnyTable, key: string): void;
}

/** The inputs that every run of a write receives unchanged, recorded in the first run. */
export interface ReplayInputs {
  now: number | undefined;
  /** The results of `memoizeAcrossRetries`, in call order. */
  readonly values: unknown[];
}

export interface RunningWrite {
  readonly replayInputs: ReplayInputs;
  readonly now: number;
  memoizedCount: number;
}

/**
 * Returns the transaction of a batch.
 * @param running returns the running write, or throws after the write has returned
 */
export function createTransaction(base: BatchBase, changes: BatchChanges, running: () => RunningWrite): Transaction {
  const index = base.index + 1;
  const source: ReaderSource = {
    tableIndexes: (table) => changes.tableIndexes(table),
    now: () => running().now,
    mayHaveOrphans: () => changes.mayHaveOrphans,
  };

  const replace = (
    table: AnyTable,
    key: string,
    previous: Stored<unknown> | undefined,
    after: Stored<unknown> | undefined,
  ): void => {
    running();
    changes.replaceRow(table, key, previous, after, (occupant) => {
      if (isAlive(source, table, occupant.row)) return false;
      replace(table, table.key(occupant.row), occupant, undefined);
      return true;
    });
  };

  return {
    ...createReader(source),
    index,
    get now() {
      return running().now;
    },
    get position() {
      return changes.operationCount;
    },
    memoizeAcrossRetries<T>(make: () => T): T {
      const write = running();
      const { values } = write.replayInputs;
      const position = write.memoizedCount++;
      if (position === values.length) values.push(make());
      return values[position] as T;
    },
    put(table, row) {
      if (table.storeOnly) throw new TypeError(`table '${table.name}' is store-only: use append`);
      if (!ownersExist(source, table, row))
        throw new Error(`the owner of a row of table '${table.name}' does not exist`);
      const key = table.key(row);
      const previous = changes.tableIndexes(table).rows.get(key);
      const createIndex = previous !== undefined && isAlive(source, table, previous.row) ? previous.createIndex : index;
      const stored = { row, createIndex, modifyIndex: index };
      replace(table, key, previous, stored);
      return stored;
    },
    delete(table, key) {
      const previous = changes.tableIndexes(table).rows.get(key);
      if (previous === undefined || !isAlive(source, table, previous.row)) return false;
      replace(table, key, previous, undefined);
      changes.noteDeletion(table);
      return true;
    },
    append(table, row) {
      running();
      changes.replaceStored(table, table.key(row), { row, createIndex: index, modifyIndex: index });
    },
    deleteExpired(table, limit) {
      const expired = findExpired(changes, table, running().now, limit);
      for (const stored of expired) replace(table, table.key(stored.row), stored, undefined);
      if (expired.length > 0) changes.noteDeletion(table);
      return expired;
    },
    purge(table, key) {
      if (!table.storeOnly && changes.tableIndexes(table).rows.has(key)) return;
      running();
      changes.replaceStored(table, key, undefined);
    },
  };
}

function findExpired<Row>(changes: BatchChanges, table: Table<Row, string>, now: number, limit: number): Stored<Row>[] {
  const found: Stored<Row>[] = [];
  const end = expiryEntry(now + 1);
  const indexes = changes.tableIndexes(table);
  for (const [entry, key] of secondaryIndex(indexes, indexOf<unknown>(table as AnyTable, EXPIRY_INDEX)).entries()) {
    if (entry >= end || found.length === limit) break;
    const stored = indexes.rows.get(key);
    if (stored !== undefined) found.push(stored as Stored<Row>);
  }
  return found;
}
