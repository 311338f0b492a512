/**
 * The committed state of this server: the current snapshot, how commits change it, and the removal of orphaned rows.
 *
 * Removing an owner hides everything below it at once and at no cost: from that commit on, reads check owners
 * (`mayHaveOrphans`). Slices then drop the orphaned rows from memory, and the removal job deletes their keys from the
 * store. A server that loads finds the same orphans, so the job can stop and resume on any server.
 */

import type { Clock } from '../clock/clock.ts';
import type { Operation } from '../engine/engine.ts';
import { ORPHAN_SLICE_OWNERS, ORPHAN_SLICE_ROWS } from '../limits.ts';
import type { RowChange } from '../row-change.ts';
import { type AnyTable, type NamedIndex, type Schema, SEPARATOR, type Stored } from '../table.ts';
import type { ChangeFeed } from '../watch/change-feed.ts';
import { type ChangeNotifier, entryTopic, rowTopic, type Topic } from '../watch/change-notifier.ts';
import { decodeRow } from './codec.ts';
import { DerivedCache } from './derived-cache.ts';
import { type FindHolder, RowCounts } from './row-counts.ts';
import { createSnapshot, type Snapshot, type SnapshotData } from './snapshot.ts';
import { cloneTableIndexes, emptyTableIndexes, secondaryIndex, setRow, type TableIndexes } from './table-indexes.ts';

/** The epoch of a new store. */
const FIRST_EPOCH = 1;

type Tables = SnapshotData['tables'];

/** The rows of a snapshot: the tables, and the counts derived from them. */
type Content = Pick<SnapshotData, 'tables' | 'rowCounts'>;

export interface LoadedState {
  readonly cluster: string;
  readonly epoch: number;
  readonly index: number;
  readonly tables: Tables;
  readonly rowCounts: RowCounts;
  readonly orphanedKeys: ReadonlyMap<AnyTable, Set<string>>;
}

/** A batch of this server that the store has committed. */
export interface CommittedBatch {
  rowChanges(): readonly RowChange[];
  nextBase(): Content;
}

interface RowKey {
  readonly table: AnyTable;
  readonly key: string;
}

export interface CommittedStateParts {
  readonly schema: Schema;
  readonly clock: Clock;
  readonly notifier: ChangeNotifier;
  readonly feed: ChangeFeed;
  readonly onChange: () => void;
}

export class CommittedState {
  readonly #parts: CommittedStateParts;
  readonly #derived = new DerivedCache();
  #snapshot: Snapshot;
  #orphanedKeys = new Map<AnyTable, Set<string>>();
  /** Removed owners whose orphans may still be in memory. */
  #removedOwners: RowKey[] = [];
  /** The number of processed owners at the front of `#removedOwners`, trimmed rarely because each trim copies it. */
  #processedOwners = 0;
  /** The index of the newest commit that removed an owner. Every entry of an owned table counts as changed by it. */
  #lastOwnerRemovalIndex = 0;
  /** The index at which this server first loaded the epoch. The cut in the history may have changed any older row. */
  #epochStartIndex = 0;

  constructor(parts: CommittedStateParts) {
    this.#parts = parts;
    const tables = new Map(memoryTables(parts.schema).map((table) => [table, emptyTableIndexes(table)]));
    const rowCounts = RowCounts.empty();
    this.#snapshot = this.#createSnapshot({
      cluster: '',
      epoch: 0,
      index: 0,
      mayHaveOrphans: false,
      tables,
      rowCounts,
    });
  }

  get snapshot(): Snapshot {
    return this.#snapshot;
  }

  /** Whether memory may contain orphaned rows that `dropOrphans` has not dropped. */
  get hasOrphans(): boolean {
    return this.#removedOwners.length > this.#processedOwners;
  }

  /** Returns the index of the last change under an entry of a watched index, or a higher one. */
  entryIndex(table: AnyTable, topic: Topic): number {
    const changed = this.#parts.notifier.lastChangeIndex(topic);
    // Also after all orphans are dropped, because an index that clients received must not fall.
    return table.owners === undefined ? changed : Math.max(changed, this.#lastOwnerRemovalIndex);
  }

  /** Returns the index of the last change of a row, existing or missing, or a higher one. */
  rowIndex(table: AnyTable, key: string): number {
    const isMissing = this.#snapshot.get(table, key) === undefined;
    // An expired or orphaned row stays in memory until it is dropped, and clients have received its index.
    const storedIndex = this.#snapshot.tables.get(table)?.rows.get(key)?.modifyIndex ?? 0;
    return Math.max(storedIndex, isMissing ? this.entryIndex(table, rowTopic(table, key)) : this.#epochStartIndex);
  }

  /** Returns up to `limit` keys for the removal job to delete from the store. */
  orphanedKeys(limit: number): RowKey[] {
    const found: RowKey[] = [];
    for (const [table, keys] of this.#orphanedKeys) {
      for (const key of keys) {
        if (found.length === limit) return found;
        found.push({ table, key });
      }
    }
    return found;
  }

  adopt(batch: CommittedBatch, index: number): void {
    this.#publish(batch.nextBase(), batch.rowChanges(), index);
  }

  /** Applies another server's commit. @throws StateError `corrupt`, UniqueError; the caller must then reload. */
  apply(operations: readonly Operation[], index: number): void {
    const tables = new Map(this.#snapshot.tables);
    const rowCounts = this.#snapshot.rowCounts.clone();
    const find = holderIn(tables);
    const cloned = new Set<AnyTable>();
    const changes: RowChange[] = [];
    for (const { table: name, key, value } of operations) {
      const table = this.#parts.schema.byName.get(name);
      // Tables of a newer version are neither read nor written here.
      if (table === undefined || table.storeOnly) continue;
      const after = value === null ? undefined : decodeRow(table, key, value);
      let indexes = tables.get(table) as TableIndexes;
      if (!cloned.has(table)) {
        indexes = cloneTableIndexes(indexes);
        tables.set(table, indexes);
        cloned.add(table);
      }
      changes.push({ table, key, before: indexes.rows.get(key), after });
    }
    const set = (table: AnyTable, key: string, next: Stored<unknown> | undefined): void => {
      const replacement = setRow(table, tables.get(table) as TableIndexes, key, next);
      rowCounts.replace(table, key, replacement, find);
    };
    // In two passes, because one commit may move a unique entry from one row to another.
    for (const { table, key, after } of changes) {
      if (after === undefined || hasUniqueIndex(table)) set(table, key, undefined);
    }
    for (const { table, key, after } of changes) if (after !== undefined) set(table, key, after);
    this.#publish({ tables, rowCounts }, changes, index);
  }

  /** Drops up to one slice of orphaned rows from memory. Must not be called while a batch is built on the snapshot. */
  dropOrphans(): void {
    const tables = new Map(this.#snapshot.tables);
    const rowCounts = this.#snapshot.rowCounts.clone();
    const find = holderIn(tables);
    const changes: RowChange[] = [];
    const cloned = new Set<AnyTable>();
    for (let examined = 0; examined < ORPHAN_SLICE_OWNERS && changes.length < ORPHAN_SLICE_ROWS; examined++) {
      const owner = this.#removedOwners[this.#processedOwners];
      if (owner === undefined) break;
      for (const { table, index } of this.#parts.schema.owned.get(owner.table) ?? []) {
        const current = tables.get(table) as TableIndexes;
        const orphans = findOrphans(current, index, owner.key, ORPHAN_SLICE_ROWS - changes.length);
        if (orphans.length === 0) continue;
        const indexes = cloned.has(table) ? current : cloneTableIndexes(current);
        tables.set(table, indexes);
        cloned.add(table);
        for (const stored of orphans) {
          const key = table.key(stored.row as object);
          rowCounts.replace(table, key, setRow(table, indexes, key, undefined), find);
          this.#addOrphanedKey(table, key);
          changes.push({ table, key, before: stored, after: undefined });
        }
      }
      if (changes.length < ORPHAN_SLICE_ROWS) this.#processedOwners++;
    }
    if (this.#processedOwners * 2 >= this.#removedOwners.length) this.#trimRemovedOwners();
    this.#publish({ tables, rowCounts }, changes, this.#snapshot.index, 'orphans');
  }

  #trimRemovedOwners(): void {
    this.#removedOwners = this.#removedOwners.slice(this.#processedOwners);
    this.#processedOwners = 0;
  }

  load({ cluster, epoch, index, tables, rowCounts, orphanedKeys }: LoadedState): void {
    this.#removedOwners = [];
    this.#processedOwners = 0;
    this.#orphanedKeys = new Map(orphanedKeys);
    if (epoch !== this.#snapshot.epoch) this.#epochStartIndex = epoch === FIRST_EPOCH ? 0 : index;
    this.#snapshot = this.#createSnapshot({ cluster, epoch, index, mayHaveOrphans: false, tables, rowCounts });
    this.#parts.feed.disconnectAll();
    this.#parts.notifier.reset(index);
    this.#parts.onChange();
  }

  /** Makes the content current, and notifies waiters and consumers of the change feed. */
  #publish({ tables, rowCounts }: Content, changes: readonly RowChange[], index: number, reason?: 'orphans'): void {
    const recorded: Topic[] = [];
    const notified: Topic[] = [];
    for (const { table, key, before, after } of changes) {
      if (reason === undefined) this.#removeOrphanedKey(table, key);
      // Includes owners that were created and removed in this commit: rows may have been added below them in between.
      if (after === undefined && this.#parts.schema.owned.has(table)) this.#removedOwners.push({ table, key });
      if (before === undefined && after === undefined) continue;
      if (after === undefined && this.#parts.schema.owned.has(table)) this.#lastOwnerRemovalIndex = index;
      (after === undefined ? recorded : notified).push(rowTopic(table, key));
      recorded.push(...entryTopics(table, before, after));
    }
    const { cluster, epoch } = this.#snapshot;
    const mayHaveOrphans = this.hasOrphans;
    this.#snapshot = this.#createSnapshot({ cluster, epoch, index, mayHaveOrphans, tables, rowCounts });
    this.#parts.notifier.recordChanges(recorded, index);
    this.#parts.notifier.notify(notified);
    this.#parts.feed.push({ index, changes });
    this.#parts.onChange();
  }

  /** Creates the next snapshot and frees the values derived from the previous one and from replaced tables. */
  #createSnapshot(data: SnapshotData): Snapshot {
    const snapshot = createSnapshot(data, this.#parts.clock, this.#derived);
    this.#derived.keepOnly([snapshot, ...data.tables.values()]);
    return snapshot;
  }

  #addOrphanedKey(table: AnyTable, key: string): void {
    const keys = this.#orphanedKeys.get(table);
    if (keys === undefined) this.#orphanedKeys.set(table, new Set([key]));
    else keys.add(key);
  }

  #removeOrphanedKey(table: AnyTable, key: string): void {
    const keys = this.#orphanedKeys.get(table);
    if (keys?.delete(key) && keys.size === 0) this.#orphanedKeys.delete(table);
  }
}

/** Returns the tables whose rows are in memory, owners first. */
export function memoryTables(schema: Schema): AnyTable[] {
  return schema.tables.filter((table) => !table.storeOnly);
}

const holderIn =
  (tables: Tables): FindHolder =>
  (table, key) =>
    tables.get(table)?.rows.get(key);

/** Yields the topics of the watched entries that a row had before or has after a change. */
function* entryTopics(table: AnyTable, before: RowChange['before'], after: RowChange['after']): Generator<Topic> {
  for (const { watched, name, entry } of table.indexList) {
    if (!watched) continue;
    const from = before === undefined ? undefined : entry(before.row);
    const to = after === undefined ? undefined : entry(after.row);
    if (from !== undefined) yield entryTopic(table, name, from);
    if (to !== undefined && to !== from) yield entryTopic(table, name, to);
  }
}

function hasUniqueIndex(table: AnyTable): boolean {
  return table.indexList.some((index) => index.unique);
}

/** Returns up to `limit` rows that the removed owner `ownerKey` owned. */
function findOrphans(
  indexes: TableIndexes,
  index: NamedIndex<unknown>,
  ownerKey: string,
  limit: number,
): Stored<unknown>[] {
  const found: Stored<unknown>[] = [];
  const prefix = ownerKey + SEPARATOR;
  for (const [treeKey, key] of secondaryIndex(indexes, index).entries(prefix)) {
    if (found.length === limit || !treeKey.startsWith(prefix)) break;
    const stored = indexes.rows.get(key);
    if (stored !== undefined) found.push(stored);
  }
  return found;
}
