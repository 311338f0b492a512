/**
 * The state as this node holds it: the current snapshot, how commits change it, and the slow side of removing owners.
 *
 * Removing an owner makes everything under it unreachable at once, at no cost: from that commit on, reads look owners
 * up (`ownersInDoubt`). Slices then drop the orphans from the trees, and their keys are `doomed` until the removal job
 * has deleted them from the store. A node that loads finds the same orphans and dooms them again, so the job can stop
 * anywhere and go on anywhere.
 */

import type { Clock } from '../clock/clock.ts';
import type { Operation } from '../engine/engine.ts';
import { DRAIN_SLICE_OWNERS, DRAIN_SLICE_ROWS } from '../limits.ts';
import { type AnyTable, type NamedIndex, type Schema, SEPARATOR, type Stored } from '../table.ts';
import type { ChangeFeed } from '../watch/change-feed.ts';
import { entryTopic, rowTopic, type Topic, type Waiting } from '../watch/change-notifier.ts';
import type { Batch, RowChange } from '../write/batch.ts';
import { decodeRow } from './codec.ts';
import { createSnapshot, type Snapshot, type SnapshotParts } from './snapshot.ts';
import { assign, cloneTrees, emptyTrees, type TableTrees, treeOf } from './table-indexes.ts';

/** History was never cut. */
const FIRST_EPOCH = 1;

/** A whole state as it came from the store. */
export interface LoadedState {
  readonly cluster: string;
  readonly epoch: number;
  readonly index: number;
  readonly trees: ReadonlyMap<AnyTable, TableTrees>;
  /** Keys that stand in the store for rows whose owner is gone. */
  readonly doomed: ReadonlyMap<AnyTable, Set<string>>;
}

interface RemovedOwner {
  readonly table: AnyTable;
  readonly key: string;
}

export interface MemoryParts {
  readonly schema: Schema;
  readonly clock: Clock;
  readonly waiting: Waiting;
  readonly feed: ChangeFeed;
  /** Called after every change of the current snapshot. */
  readonly onChange: () => void;
}

export class Memory {
  readonly #parts: MemoryParts;
  #snapshot: Snapshot;
  #doomed = new Map<AnyTable, Set<string>>();
  #removedOwners: RemovedOwner[] = [];
  /** So many of them are done with: taking each from the front would move all others. */
  #drainedOwners = 0;
  /** The newest commit that removed an owner: everything that can be owned counts as changed by it. */
  #ownerRemovalIndex = 0;
  /** Where this epoch can have begun: rows older than it may have been changed by the cut of history itself. */
  #epochStart = 0;

  constructor(parts: MemoryParts) {
    this.#parts = parts;
    const trees = new Map(memoryTables(parts.schema).map((table) => [table, emptyTrees(table)]));
    this.#snapshot = createSnapshot({ cluster: '', epoch: 0, index: 0, ownersInDoubt: false, trees }, parts.clock);
  }

  get snapshot(): Snapshot {
    return this.#snapshot;
  }

  /** Orphans are in the trees, waiting for `drainSlice`. */
  get draining(): boolean {
    return this.#removedOwners.length > this.#drainedOwners;
  }

  /** The index of the last change under an entry of a watched index, or one after it. */
  entryIndex(table: AnyTable, topic: Topic): number {
    const changed = this.#parts.waiting.lastChange(topic);
    // Also when all is drained: an index that was reported once must not fall.
    return table.owners === undefined ? changed : Math.max(changed, this.#ownerRemovalIndex);
  }

  /** The index of the last change of a row, there or not, or one after it. */
  rowIndex(table: AnyTable, key: string): number {
    const gone = this.#snapshot.get(table, key) === undefined;
    // A row that expired or lost its owner stands in the trees until it is dropped, and was reported with its index.
    const standing = this.#snapshot.trees.get(table)?.rows.get(key)?.modifyIndex ?? 0;
    return Math.max(standing, gone ? this.entryIndex(table, rowTopic(table, key)) : this.#epochStart);
  }

  /** Up to `limit` keys that the removal job should delete from the store. */
  doomedKeys(limit: number): RemovedOwner[] {
    const keys: RemovedOwner[] = [];
    for (const [table, set] of this.#doomed) {
      for (const key of set) {
        if (keys.length === limit) return keys;
        keys.push({ table, key });
      }
    }
    return keys;
  }

  /** Makes the trees of a batch that became `index` the current ones. */
  adopt(batch: Batch, index: number): void {
    this.#settle(batch.after().trees, batch.rowChanges(), index);
  }

  /** Applies a commit of another node. @throws StateError `corrupt`, UniqueError: then nothing was changed; load again */
  apply(operations: readonly Operation[], index: number): void {
    const trees = new Map(this.#snapshot.trees);
    const cloned = new Set<AnyTable>();
    const changes: RowChange[] = [];
    for (const { table: name, key, value } of operations) {
      const table = this.#parts.schema.byName.get(name);
      // A newer version's table: that version keeps it, this one neither reads nor writes it.
      if (table === undefined || table.storeOnly) continue;
      const after = value === null ? undefined : decodeRow(table, key, value);
      let own = trees.get(table) as TableTrees;
      if (!cloned.has(table)) {
        own = cloneTrees(own);
        trees.set(table, own);
        cloned.add(table);
      }
      changes.push({ table, key, before: own.rows.get(key), after });
    }
    // In two passes: one commit may move a unique entry from one row to another.
    for (const { table, key, after } of changes) {
      if (after === undefined || hasUniqueIndex(table)) assign(table, trees.get(table) as TableTrees, key, undefined);
    }
    for (const { table, key, after } of changes) {
      if (after !== undefined) assign(table, trees.get(table) as TableTrees, key, after);
    }
    this.#settle(trees, changes, index);
  }

  /** Drops up to a slice of orphans from the trees. Not while a batch is built on them. */
  drainSlice(): void {
    const trees = new Map(this.#snapshot.trees);
    const changes: RowChange[] = [];
    const owned = new Set<AnyTable>();
    for (let looked = 0; looked < DRAIN_SLICE_OWNERS && changes.length < DRAIN_SLICE_ROWS; looked++) {
      const owner = this.#removedOwners[this.#drainedOwners];
      if (owner === undefined) break;
      for (const { table, index } of this.#parts.schema.owned.get(owner.table) ?? []) {
        const standing = trees.get(table) as TableTrees;
        const found = orphans(standing, index, owner.key, DRAIN_SLICE_ROWS - changes.length);
        if (found.length === 0) continue;
        const own = owned.has(table) ? standing : cloneTrees(standing);
        trees.set(table, own);
        owned.add(table);
        for (const stored of found) {
          const key = table.key(stored.row as object);
          assign(table, own, key, undefined);
          this.#doom(table, key);
          changes.push({ table, key, before: stored, after: undefined });
        }
      }
      if (changes.length < DRAIN_SLICE_ROWS) this.#drainedOwners++;
    }
    if (this.#drainedOwners * 2 >= this.#removedOwners.length) this.#cutDrainedOwners();
    this.#settle(trees, changes, this.#snapshot.index, 'orphans');
  }

  #cutDrainedOwners(): void {
    this.#removedOwners = this.#removedOwners.slice(this.#drainedOwners);
    this.#drainedOwners = 0;
  }

  /** Replaces everything with what was loaded. */
  replace(loaded: LoadedState): void {
    this.#removedOwners = [];
    this.#drainedOwners = 0;
    this.#doomed = new Map(loaded.doomed);
    const { cluster, epoch, index, trees } = loaded;
    if (epoch !== this.#snapshot.epoch) this.#epochStart = epoch === FIRST_EPOCH ? 0 : index;
    this.#snapshot = createSnapshot({ cluster, epoch, index, ownersInDoubt: false, trees }, this.#parts.clock);
    this.#parts.feed.cut();
    this.#parts.waiting.reset(index);
    this.#parts.onChange();
  }

  #doom(table: AnyTable, key: string): void {
    const keys = this.#doomed.get(table);
    if (keys === undefined) this.#doomed.set(table, new Set([key]));
    else keys.add(key);
  }

  #settle(trees: SnapshotParts['trees'], changes: readonly RowChange[], index: number, why?: 'orphans'): void {
    const touched: Topic[] = [];
    const notified: Topic[] = [];
    for (const { table, key, before, after } of changes) {
      if (why === undefined) this.#undoom(table, key);
      // Also one that no reader ever saw: made and removed in one commit, with rows put under it in between.
      if (after === undefined && this.#parts.schema.owned.has(table)) this.#removedOwners.push({ table, key });
      if (before === undefined && after === undefined) continue;
      if (after === undefined && this.#parts.schema.owned.has(table)) this.#ownerRemovalIndex = index;
      (after === undefined ? touched : notified).push(rowTopic(table, key));
      touched.push(...entryTopics(table, before, after));
    }
    const { cluster, epoch } = this.#snapshot;
    this.#snapshot = createSnapshot({ cluster, epoch, index, ownersInDoubt: this.draining, trees }, this.#parts.clock);
    this.#parts.waiting.touch(touched, index);
    this.#parts.waiting.notify(notified);
    this.#parts.feed.push({ index, changes });
    this.#parts.onChange();
  }

  #undoom(table: AnyTable, key: string): void {
    const keys = this.#doomed.get(table);
    if (keys?.delete(key) && keys.size === 0) this.#doomed.delete(table);
  }
}

/** The tables whose rows are in memory, owners first. */
export function memoryTables(schema: Schema): AnyTable[] {
  return schema.tables.filter((table) => !table.storeOnly);
}

/** The entries of watched indexes under which a row stood or stands. */
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

function orphans(trees: TableTrees, index: NamedIndex<unknown>, ownerKey: string, limit: number): Stored<unknown>[] {
  const found: Stored<unknown>[] = [];
  const prefix = ownerKey + SEPARATOR;
  for (const [indexKey, key] of treeOf(trees, index).entries(prefix)) {
    if (found.length === limit || !indexKey.startsWith(prefix)) break;
    const stored = trees.rows.get(key);
    if (stored !== undefined) found.push(stored);
  }
  return found;
}
