/** One picture of the state that never changes: what a request reads from first to last. */
import type { Clock } from '../clock/clock.ts';
import { MEMOS_OF_TABLE_MAX } from '../limits.ts';
import type { AnyTable } from '../table.ts';
import { createMemos, type Memos } from './derived-cache.ts';
import { createReader, type Reader } from './reader.ts';
import type { TableTrees } from './table-indexes.ts';

export interface Snapshot extends Reader {
  readonly cluster: string;
  readonly epoch: number;
  /** The index of the last commit in it. */
  readonly index: number;
  /** Rows may be in the trees whose owner is gone, and reads hide them. */
  readonly ownersInDoubt: boolean;
  readonly trees: ReadonlyMap<AnyTable, TableTrees>;
  /** Rows in memory, orphans included. */
  readonly rowCount: number;
  /** What `make` gave for `key` in this snapshot before; for results that many callers share. See `Memos.of`. */
  readonly memo: Memos['of'];
  /**
   * What `make` gave for `key` since a row of `table` changed last, in whatever snapshot. It works with rows of that
   * table alone, which neither expire nor lose their owner while somebody asks: then nothing in the table changes.
   * `key` names something that is there and that these rows belong to; no caller may make one up.
   */
  memoWhile<T>(table: AnyTable, key: string, make: () => T): T;
}

/** What makes a snapshot. */
export interface SnapshotParts {
  readonly cluster: string;
  readonly epoch: number;
  readonly index: number;
  readonly ownersInDoubt: boolean;
  readonly trees: ReadonlyMap<AnyTable, TableTrees>;
}

/** A snapshot over trees that nobody changes any more. */
export function createSnapshot(parts: SnapshotParts, clock: Clock): Snapshot {
  const memos = createMemos();
  const treesOf = (table: AnyTable): TableTrees => {
    const trees = parts.trees.get(table);
    if (trees === undefined) throw new TypeError(`table '${table.name}' is not in memory`);
    return trees;
  };
  const reader = createReader({
    trees: treesOf,
    now: () => clock.now(),
    ownersInDoubt: () => parts.ownersInDoubt,
  });
  return {
    ...parts,
    ...reader,
    get rowCount() {
      let count = 0;
      for (const trees of parts.trees.values()) count += trees.rows.size;
      return count;
    },
    memo: memos.of,
    memoWhile(table, key, make) {
      const trees = treesOf(table);
      let ofTable = memosOfTables.get(trees);
      if (ofTable === undefined) {
        ofTable = new Map();
        memosOfTables.set(trees, ofTable);
      }
      return remembered(ofTable, key, make);
    },
  };
}

/** By the trees of a table, which a commit that changes none of its rows leaves as they are. */
const memosOfTables = new WeakMap<TableTrees, Map<string, unknown>>();

function remembered<T>(memos: Map<string, unknown>, key: string, make: () => T): T {
  if (memos.has(key)) return memos.get(key) as T;
  const value = make();
  if (memos.size >= MEMOS_OF_TABLE_MAX) memos.clear();
  memos.set(key, value);
  return value;
}
