/**
 * The changes of one batch: copy-on-write tables, the net operation for each key, and an undo log of the last write.
 *
 * Undoing a write reverts its changes, newest first. Each change has an exact inverse because `replaceRow` checks
 * before it changes anything. Cloning the tables for every write instead would cost more than the write itself.
 */

import type { Operation, TableFormats } from '../engine/engine.ts';
import { encodeRow } from '../memory/codec.ts';
import { changesCounts, type FindHolder, type RowCounts } from '../memory/row-counts.ts';
import { cloneTableIndexes, type RowReplacement, replaceRow, type TableIndexes } from '../memory/table-indexes.ts';
import type { RowChange } from '../row-change.ts';
import { type AnyTable, type Schema, SEPARATOR, type Stored } from '../table.ts';

export interface BatchBase {
  readonly schema: Schema;
  readonly epoch: number;
  readonly index: number;
  readonly tables: ReadonlyMap<AnyTable, TableIndexes>;
  readonly mayHaveOrphans: boolean;
  /** Rows in memory, orphans included. */
  readonly rowCount: number;
  /** The estimated memory of these rows. */
  readonly rowBytes: number;
  readonly rowCounts: RowCounts;
  /** The row formats to write. The state replaces this object, and so the base, when they change. */
  readonly formats: TableFormats;
}

/** The net change of a key: `before` is the row in the base, `value` the stored text to commit. */
interface PendingChange extends RowChange {
  readonly value: string | null;
  readonly bytes: number;
}

interface UndoStep {
  readonly change: PendingChange;
  /** The net change of the key before this step. */
  readonly earlier: PendingChange | undefined;
  /** The indexes that the step changed; undefined for a key that is in the store only. */
  readonly indexes: TableIndexes | undefined;
  /** The row that the step replaced in these indexes. */
  readonly previous: Stored<unknown> | undefined;
}

/** A count that the last write changed. */
export interface CountChange {
  readonly table: AnyTable;
  readonly key: string;
  readonly before: number;
  readonly after: number;
}

export class BatchChanges {
  readonly #base: BatchBase;
  readonly #copies = new Map<AnyTable, TableIndexes>();
  readonly #changes = new Map<AnyTable, Map<string, PendingChange>>();
  readonly #undoLog: UndoStep[] = [];
  /** A copy of the counts of the base, made by the first change of a count. */
  #countsCopy: RowCounts | undefined;
  /** The counts that the last write changed, as they were before it, by holder. */
  readonly #earlierCounts = new Map<AnyTable, Map<string, number>>();
  #operationCount = 0;
  #bytes = 0;
  #rowsAdded = 0;
  #removedOwner = false;

  constructor(base: BatchBase) {
    this.#base = base;
  }

  get operationCount(): number {
    return this.#operationCount;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get rowsAdded(): number {
    return this.#rowsAdded;
  }

  /** The estimated memory that the batch adds to that of the rows. */
  get rowBytesAdded(): number {
    let added = 0;
    for (const [table, copy] of this.#copies) added += copy.bytes - (this.#base.tables.get(table)?.bytes ?? 0);
    return added;
  }

  /** Whether the tables may contain rows whose owner the base or this batch has removed. */
  get mayHaveOrphans(): boolean {
    return this.#base.mayHaveOrphans || this.#removedOwner;
  }

  tableIndexes(table: AnyTable): TableIndexes {
    const indexes = this.#copies.get(table) ?? this.#base.tables.get(table);
    if (indexes === undefined) throw new TypeError(`table '${table.name}' is not in memory`);
    return indexes;
  }

  beginWrite(): void {
    this.#undoLog.length = 0;
    this.#earlierCounts.clear();
  }

  /** Yields the counts that differ from those before the last write. */
  *countChanges(): Generator<CountChange> {
    for (const [table, counts] of this.#earlierCounts) {
      for (const [key, before] of counts) {
        const after = this.rowCounts.get(table, key);
        if (after !== before) yield { table, key, before, after };
      }
    }
  }

  get rowCounts(): RowCounts {
    return this.#countsCopy ?? this.#base.rowCounts;
  }

  /** Replaces `previous`, the row under `key`, with `after`. @throws UniqueError, TypeError for an invalid key */
  replaceRow(
    table: AnyTable,
    key: string,
    previous: Stored<unknown> | undefined,
    after: Stored<unknown> | undefined,
    evict: (occupant: Stored<unknown>) => boolean,
  ): void {
    if (after !== undefined) checkKey(table, key);
    const indexes = this.#writable(table);
    const replacement = replaceRow(table, indexes, key, previous, after, evict);
    this.#rowsAdded += rowsAdded(previous, after);
    this.#count(table, key, replacement);
    this.#record(table, key, previous, after, indexes);
  }

  /** Notes that the batch deletes rows of `table`, which may leave orphans. */
  noteDeletion(table: AnyTable): void {
    if (this.#base.schema.owned.has(table)) this.#removedOwner = true;
  }

  /** Sets or deletes a key in the store only. @throws TypeError for an invalid key */
  replaceStored(table: AnyTable, key: string, after: Stored<unknown> | undefined): void {
    if (after !== undefined) checkKey(table, key);
    this.#record(table, key, undefined, after, undefined);
  }

  /** Undoes the changes since `beginWrite`. */
  undo(): void {
    for (let step = this.#undoLog.pop(); step !== undefined; step = this.#undoLog.pop()) {
      const { change, earlier, indexes, previous } = step;
      this.#setNetChange(change.key, change, earlier);
      if (indexes === undefined) continue;
      replaceRow(change.table, indexes, change.key, change.after, previous);
      this.#rowsAdded -= rowsAdded(previous, change.after);
    }
    for (const [table, counts] of this.#earlierCounts) {
      for (const [key, count] of counts) this.#countsCopy?.set(table, key, count);
    }
    this.#earlierCounts.clear();
  }

  operations(): Operation[] {
    const all: Operation[] = [];
    for (const [{ name }, byKey] of this.#changes) {
      for (const { key, value } of byKey.values()) all.push({ table: name, key, value });
    }
    return all;
  }

  rowChanges(): RowChange[] {
    const all: RowChange[] = [];
    for (const [{ storeOnly }, byKey] of this.#changes) if (!storeOnly) all.push(...byKey.values());
    return all;
  }

  nextBase(): BatchBase {
    if (this.#operationCount === 0) return this.#base;
    return {
      ...this.#base,
      index: this.#base.index + 1,
      tables: new Map([...this.#base.tables, ...this.#copies]),
      mayHaveOrphans: this.mayHaveOrphans,
      rowCount: this.#base.rowCount + this.#rowsAdded,
      rowBytes: this.#base.rowBytes + this.rowBytesAdded,
      rowCounts: this.rowCounts,
    };
  }

  #count(table: AnyTable, key: string, replacement: RowReplacement): void {
    if (!changesCounts(table, replacement)) return;
    this.#countsCopy ??= this.#base.rowCounts.clone();
    const find: FindHolder = (holders, holder) => this.tableIndexes(holders).rows.get(holder);
    this.#countsCopy.replace(table, key, replacement, find, (holders, holder, count) => {
      const earlier = this.#earlierCounts.getOrInsertComputed(holders, () => new Map<string, number>());
      if (!earlier.has(holder)) earlier.set(holder, count);
    });
  }

  #writable(table: AnyTable): TableIndexes {
    let copy = this.#copies.get(table);
    if (copy === undefined) {
      copy = cloneTableIndexes(this.tableIndexes(table));
      this.#copies.set(table, copy);
    }
    return copy;
  }

  #record(
    table: AnyTable,
    key: string,
    previous: Stored<unknown> | undefined,
    after: Stored<unknown> | undefined,
    indexes: TableIndexes | undefined,
  ): void {
    const value =
      after === undefined ? null : encodeRow(table, after, this.#base.formats[table.name] ?? table.formats.version);
    const earlier = this.#changes.get(table)?.get(key);
    const before = earlier === undefined ? previous : earlier.before;
    const change = { table, key, before, after, value, bytes: sizeOf(table, key, value) };
    this.#setNetChange(key, earlier, change);
    this.#undoLog.push({ change, earlier, indexes, previous });
  }

  /** Replaces the net change `from` of a key with `to`; undefined stands for no change. */
  #setNetChange(key: string, from: PendingChange | undefined, to: PendingChange | undefined): void {
    const { table } = (to ?? from) as PendingChange;
    let byKey = this.#changes.get(table);
    if (byKey === undefined) {
      byKey = new Map();
      this.#changes.set(table, byKey);
    }
    if (to === undefined) byKey.delete(key);
    else byKey.set(key, to);
    this.#operationCount += (to === undefined ? 0 : 1) - (from === undefined ? 0 : 1);
    this.#bytes += (to?.bytes ?? 0) - (from?.bytes ?? 0);
  }
}

/** Rejects keys that UTF-8 cannot represent: all lone surrogates would become one character in the store. */
function checkKey(table: AnyTable, key: string): void {
  if (key.isWellFormed() && !key.includes(SEPARATOR)) return;
  throw new TypeError(`${JSON.stringify(key)} cannot be a key of table '${table.name}': want Unicode text without NUL`);
}

/** Returns the bytes of an operation, without the framing of the wire. */
function sizeOf(table: AnyTable, key: string, value: string | null): number {
  return table.name.length + Buffer.byteLength(key) + (value === null ? 0 : Buffer.byteLength(value));
}

function rowsAdded(before: Stored<unknown> | undefined, after: Stored<unknown> | undefined): number {
  return (after === undefined ? 0 : 1) - (before === undefined ? 0 : 1);
}
