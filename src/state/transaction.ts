/**
 * The changes of one batch while it is put together: writes run one after another on copies of the trees, each can be
 * taken back alone, and what is left is the one final operation a key that the engine commits.
 *
 * A write is taken back by reverting its own assignments, newest first: `assign` checks before it changes, so each one
 * has an exact inverse. (A clone of every tree a write was tried: four clones and their copied paths cost more than
 * the write itself.)
 */
import { encodeRow } from './codec.ts';
import type { Operation } from './engine.ts';
import { createReader, isAlive, ownersAlive, type Reader, type ReaderSource } from './reader.ts';
import {
  type AnyTable,
  type DeepReadonly,
  EXPIRY_INDEX,
  expiryEntry,
  indexOf,
  type Schema,
  SEPARATOR,
  type Stored,
  type Table,
} from './table.ts';
import { assign, cloneTrees, type TableTrees, treeOf } from './trees.ts';

/** What a write function sees: reads of the batch so far, and changes to it. */
export interface Transaction extends Reader {
  /** Milliseconds since 1970, the same whenever the write is run again. */
  readonly now: number;
  /** The index that this commit will have. */
  readonly index: number;
  /** Operations in the batch so far: together with `index` it names an append that no other has, in order. */
  readonly position: number;
  /** What `make` gave in the first run of this write: for ids and other randomness, called in the same order each run. */
  once<T>(make: () => T): T;
  /** Creates or replaces a row. @throws Error when an owner does not exist, UniqueError; both mistakes of the caller */
  put<Row>(table: Table<Row, string>, row: DeepReadonly<Row>): Stored<Row>;
  /** Removes the row under `key`, and with it everything that it owns. @returns whether it was there */
  delete<Row>(table: Table<Row, string>, key: string): boolean;
  /** Adds a row to a store-only table. */
  append<Row>(table: Table<Row, string>, row: DeepReadonly<Row>): void;
  /** Removes up to `limit` rows that are past their expiry. @returns them */
  expire<Row>(table: Table<Row, string>, limit: number): Stored<Row>[];
  /** Removes a key from the store that no row in memory stands for; does nothing if one does again. */
  purge(table: AnyTable, key: string): void;
}

/** The final effect on one key; `before` is the row in the base, `after` what the commit leaves there. */
export interface RowChange {
  readonly table: AnyTable;
  readonly key: string;
  readonly before: Stored<unknown> | undefined;
  readonly after: Stored<unknown> | undefined;
}

interface PendingChange extends RowChange {
  readonly value: string | null;
  readonly bytes: number;
}

/** What a batch is built on. */
export interface BatchBase {
  readonly schema: Schema;
  readonly epoch: number;
  readonly index: number;
  readonly trees: ReadonlyMap<AnyTable, TableTrees>;
  readonly ownersInDoubt: boolean;
  /** Rows in the memory tables, orphans included. */
  readonly rowCount: number;
  /** The row format to write; another function when it may answer otherwise. */
  readonly format: (table: AnyTable) => number;
}

/** One run of a write in a batch; `undo` takes it back. */
export interface WriteRun<T> {
  readonly value: T;
  undo(): void;
}

/** Values that a write fixed in its first run. */
export interface Fixed {
  now: number | undefined;
  readonly values: unknown[];
}

/** A batch that is being put together. */
export interface Batch {
  /** Runs `fn` and adds its changes. @throws what `fn` throws, after taking its changes back */
  run<T>(fn: (tx: Transaction) => T, fixed: Fixed, now: number): WriteRun<T>;
  readonly operationCount: number;
  readonly bytes: number;
  /** How many rows the batch adds to memory. */
  readonly rowsAdded: number;
  operations(): Operation[];
  rowChanges(): RowChange[];
  /** What the next batch is built on if this one is committed; from now on no write runs in this one. */
  after(): BatchBase;
}

type Undo = () => void;

/** An empty batch on `base`. */
export function createBatch(base: BatchBase): Batch {
  const trees = new Map<AnyTable, TableTrees>();
  const changes = new Map<AnyTable, Map<string, PendingChange>>();
  const index = base.index + 1;
  let operationCount = 0;
  let bytes = 0;
  let rowsAdded = 0;
  let ownerRemoved = false;
  let after: BatchBase | undefined;

  const readable = (table: AnyTable): TableTrees => {
    const own = trees.get(table) ?? base.trees.get(table);
    if (own === undefined) throw new TypeError(`table '${table.name}' is not in memory`);
    return own;
  };
  const writable = (table: AnyTable): TableTrees => {
    let own = trees.get(table);
    if (own === undefined) {
      own = cloneTrees(readable(table));
      trees.set(table, own);
    }
    return own;
  };
  /** Records the final operation of a key and gives back how to forget it again. */
  const record = (change: PendingChange): Undo => {
    let byKey = changes.get(change.table);
    if (byKey === undefined) {
      byKey = new Map();
      changes.set(change.table, byKey);
    }
    const earlier = byKey.get(change.key);
    const apply = (from: PendingChange | undefined, to: PendingChange | undefined): void => {
      if (to === undefined) byKey.delete(change.key);
      else byKey.set(change.key, to);
      operationCount += (to === undefined ? 0 : 1) - (from === undefined ? 0 : 1);
      bytes += (to?.bytes ?? 0) - (from?.bytes ?? 0);
    };
    const next = earlier === undefined ? change : { ...change, before: earlier.before };
    apply(earlier, next);
    return () => apply(next, earlier);
  };

  /** The write that runs: a batch runs one at a time, so one transaction object serves them all. */
  let current: { readonly fixed: Fixed; readonly now: number; readonly undos: Undo[]; fixedCount: number } | undefined;
  const running = (): NonNullable<typeof current> => {
    // Later its changes would reach trees that readers hold, and no commit.
    if (current === undefined) throw new TypeError('a transaction was used after its write: writes are synchronous');
    return current;
  };
  const source: ReaderSource = {
    trees: readable,
    now: () => running().now,
    ownersInDoubt: () => base.ownersInDoubt || ownerRemoved,
  };

  /** Changes the trees and the net change together; both are taken back together. */
  const change = (table: AnyTable, key: string, after: Stored<unknown> | undefined): void => {
    const { undos } = running();
    if (after !== undefined) checkKey(table, key);
    const own = writable(table);
    const value = after === undefined ? null : encodeRow(table, after, base.format(table));
    const before = assign(table, own, key, after, (occupant) => {
      if (isAlive(source, table, occupant.row)) return false;
      change(table, table.key(occupant.row), undefined);
      return true;
    });
    const added = (after === undefined ? 0 : 1) - (before === undefined ? 0 : 1);
    rowsAdded += added;
    const forget = record({ table, key, before, after, value, bytes: sizeOf(table, key, value) });
    undos.push(() => {
      forget();
      rowsAdded -= added;
      assign(table, own, key, before);
    });
  };

  const tx: Transaction = {
    ...createReader(source),
    index,
    get now() {
      return running().now;
    },
    get position() {
      return operationCount;
    },
    once<T>(make: () => T): T {
      const write = running();
      const { values } = write.fixed;
      const position = write.fixedCount++;
      if (position === values.length) values.push(make());
      return values[position] as T;
    },
    put(table, row) {
      if (table.storeOnly) throw new TypeError(`table '${table.name}' is store-only: use append`);
      if (!ownersAlive(source, table, row)) throw new Error(`a row of table '${table.name}' needs its owner`);
      const key = table.key(row);
      const standing = readable(table).rows.get(key);
      const createIndex = standing !== undefined && isAlive(source, table, standing.row) ? standing.createIndex : index;
      const stored = { row, createIndex, modifyIndex: index };
      change(table, key, stored);
      return stored;
    },
    delete(table, key) {
      const standing = readable(table).rows.get(key);
      if (standing === undefined || !isAlive(source, table, standing.row)) return false;
      change(table, key, undefined);
      if (base.schema.owned.has(table)) ownerRemoved = true;
      return true;
    },
    append(table, row) {
      const key = table.key(row);
      checkKey(table, key);
      const stored = { row, createIndex: index, modifyIndex: index };
      const value = encodeRow(table, stored, base.format(table));
      running().undos.push(
        record({ table, key, before: undefined, after: stored, value, bytes: sizeOf(table, key, value) }),
      );
    },
    expire<Row>(table: Table<Row, string>, limit: number) {
      const due: Stored<Row>[] = [];
      const end = expiryEntry(running().now + 1);
      const trees = readable(table);
      for (const [entry, key] of treeOf(trees, indexOf<unknown>(table as AnyTable, EXPIRY_INDEX)).entries()) {
        if (entry >= end || due.length === limit) break;
        const stored = trees.rows.get(key);
        if (stored !== undefined) due.push(stored as Stored<Row>);
      }
      for (const stored of due) change(table, table.key(stored.row), undefined);
      if (due.length > 0 && base.schema.owned.has(table)) ownerRemoved = true;
      return due;
    },
    purge(table, key) {
      if (!table.storeOnly && readable(table).rows.has(key)) return;
      running().undos.push(
        record({ table, key, before: undefined, after: undefined, value: null, bytes: sizeOf(table, key, null) }),
      );
    },
  };

  const run = <T>(fn: (tx: Transaction) => T, fixed: Fixed, now: number): WriteRun<T> => {
    if (after !== undefined) throw new TypeError('a write came to a batch that others build on');
    fixed.now ??= now;
    const undos: Undo[] = [];
    current = { fixed, now: fixed.now, undos, fixedCount: 0 };
    const undo = (): void => {
      for (let i = undos.length - 1; i >= 0; i--) undos[i]?.();
      undos.length = 0;
    };
    try {
      return { value: fn(tx), undo };
    } catch (error) {
      undo();
      throw error;
    } finally {
      current = undefined;
    }
  };

  const changed = (): Partial<BatchBase> => ({
    index,
    trees: new Map([...base.trees, ...trees]),
    ownersInDoubt: source.ownersInDoubt(),
    rowCount: base.rowCount + rowsAdded,
  });

  return {
    run,
    after() {
      after ??= operationCount === 0 ? base : { ...base, ...changed() };
      return after;
    },
    get operationCount() {
      return operationCount;
    },
    get bytes() {
      return bytes;
    },
    get rowsAdded() {
      return rowsAdded;
    },
    operations: () => flatten(changes).map(({ table, key, value }) => ({ table: table.name, key, value })),
    rowChanges: () => flatten(changes).filter(({ table }) => !table.storeOnly),
  };
}

/** Stores keep keys as UTF-8: two keys with lone surrogates in them would become one there. */
function checkKey(table: AnyTable, key: string): void {
  if (key.isWellFormed() && !key.includes(SEPARATOR)) return;
  throw new TypeError(`${JSON.stringify(key)} cannot be a key of table '${table.name}': want Unicode text without NUL`);
}

/** Bytes of an operation on the wire, short of framing; a character counts as one to three bytes. */
function sizeOf(table: AnyTable, key: string, value: string | null): number {
  return table.name.length + Buffer.byteLength(key) + (value === null ? 0 : Buffer.byteLength(value));
}

function flatten(changes: ReadonlyMap<AnyTable, ReadonlyMap<string, PendingChange>>): PendingChange[] {
  const all: PendingChange[] = [];
  for (const byKey of changes.values()) for (const change of byKey.values()) all.push(change);
  return all;
}
