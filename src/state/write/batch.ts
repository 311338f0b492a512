/**
 * The changes of one batch while it is put together: writes run one after another on copies of the trees, each can be
 * taken back alone, and what is left is the one final operation a key that the engine commits.
 *
 * A write is taken back by reverting its own assignments, newest first: `replace` checks before it changes, so each one
 * has an exact inverse. (A clone of every tree a write was tried: four clones and their copied paths cost more than
 * the write itself.)
 */

import type { Operation } from '../engine/engine.ts';
import { encodeRow } from '../memory/codec.ts';
import { createReader, isAlive, ownersAlive, type ReaderSource } from '../memory/reader.ts';
import { cloneTrees, replace, type TableTrees, treeOf } from '../memory/table-indexes.ts';
import {
  type AnyTable,
  EXPIRY_INDEX,
  expiryEntry,
  indexOf,
  type Schema,
  SEPARATOR,
  type Stored,
  type Table,
} from '../table.ts';
import type { Fixed, Transaction } from './transaction.ts';

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

/** A batch that is being put together. */
export interface Batch {
  /** Runs `fn` and adds its changes. @returns what `fn` returns @throws what `fn` throws, after taking its changes back */
  run<T>(fn: (tx: Transaction) => T, fixed: Fixed, now: number): T;
  /** Takes the changes of the last run back. */
  undo(): void;
  readonly operationCount: number;
  readonly bytes: number;
  /** How many rows the batch adds to memory. */
  readonly rowsAdded: number;
  operations(): Operation[];
  rowChanges(): RowChange[];
  /** What the next batch is built on if this one is committed; from now on no write runs in this one. */
  after(): BatchBase;
}

/** One change of the write that runs, with what it needs to be taken back. */
interface Step {
  readonly change: PendingChange;
  /** What the batch did to the key before. */
  readonly earlier: PendingChange | undefined;
  /** The trees that were changed, and the row that stood there; undefined where the table is in the store only. */
  readonly trees: TableTrees | undefined;
  readonly stood: Stored<unknown> | undefined;
}

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
  /** Makes `to` the final operation of its key instead of `from`; undefined: there is none. */
  const exchange = (key: string, from: PendingChange | undefined, to: PendingChange | undefined): void => {
    const { table } = (to ?? from) as PendingChange;
    let byKey = changes.get(table);
    if (byKey === undefined) {
      byKey = new Map();
      changes.set(table, byKey);
    }
    if (to === undefined) byKey.delete(key);
    else byKey.set(key, to);
    operationCount += (to === undefined ? 0 : 1) - (from === undefined ? 0 : 1);
    bytes += (to?.bytes ?? 0) - (from?.bytes ?? 0);
  };
  /** Records what became of a key; `stood` is the row there before, when that is not the base's. */
  const record = (
    table: AnyTable,
    key: string,
    stood: Stored<unknown> | undefined,
    after: Stored<unknown> | undefined,
    own?: TableTrees,
  ): void => {
    const value = after === undefined ? null : encodeRow(table, after, base.format(table));
    const earlier = changes.get(table)?.get(key);
    const before = earlier === undefined ? stood : earlier.before;
    const next = { table, key, before, after, value, bytes: sizeOf(table, key, value) };
    exchange(key, earlier, next);
    steps.push({ change: next, earlier, trees: own, stood });
  };

  /** The write that runs: a batch runs one at a time, so one transaction object serves them all. */
  let current: { readonly fixed: Fixed; readonly now: number; fixedCount: number } | undefined;
  /** What the last write did, in order. */
  const steps: Step[] = [];
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
  const change = (
    table: AnyTable,
    key: string,
    stood: Stored<unknown> | undefined,
    after: Stored<unknown> | undefined,
  ): void => {
    running();
    if (after !== undefined) checkKey(table, key);
    const own = writable(table);
    replace(table, own, key, stood, after, (occupant) => {
      if (isAlive(source, table, occupant.row)) return false;
      change(table, table.key(occupant.row), occupant, undefined);
      return true;
    });
    rowsAdded += added(stood, after);
    record(table, key, stood, after, own);
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
      change(table, key, standing, stored);
      return stored;
    },
    delete(table, key) {
      const standing = readable(table).rows.get(key);
      if (standing === undefined || !isAlive(source, table, standing.row)) return false;
      change(table, key, standing, undefined);
      if (base.schema.owned.has(table)) ownerRemoved = true;
      return true;
    },
    append(table, row) {
      const key = table.key(row);
      checkKey(table, key);
      running();
      record(table, key, undefined, { row, createIndex: index, modifyIndex: index });
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
      for (const stored of due) change(table, table.key(stored.row), stored, undefined);
      if (due.length > 0 && base.schema.owned.has(table)) ownerRemoved = true;
      return due;
    },
    purge(table, key) {
      if (!table.storeOnly && readable(table).rows.has(key)) return;
      running();
      record(table, key, undefined, undefined);
    },
  };

  const undo = (): void => {
    for (let step = steps.pop(); step !== undefined; step = steps.pop()) {
      const { change: done, earlier, trees: own, stood } = step;
      exchange(done.key, done, earlier);
      if (own === undefined) continue;
      replace(done.table, own, done.key, done.after, stood);
      rowsAdded -= added(stood, done.after);
    }
  };
  const run = <T>(fn: (tx: Transaction) => T, fixed: Fixed, now: number): T => {
    if (after !== undefined) throw new TypeError('a write came to a batch that others build on');
    fixed.now ??= now;
    steps.length = 0;
    current = { fixed, now: fixed.now, fixedCount: 0 };
    try {
      return fn(tx);
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
    undo,
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
    operations() {
      const all: Operation[] = [];
      for (const [{ name }, byKey] of changes) {
        for (const { key, value } of byKey.values()) all.push({ table: name, key, value });
      }
      return all;
    },
    rowChanges() {
      const all: RowChange[] = [];
      for (const [{ storeOnly }, byKey] of changes) if (!storeOnly) all.push(...byKey.values());
      return all;
    },
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

/** How many rows more there are with `after` instead of `before`. */
function added(before: Stored<unknown> | undefined, after: Stored<unknown> | undefined): number {
  return (after === undefined ? 0 : 1) - (before === undefined ? 0 : 1);
}
