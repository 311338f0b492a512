/** Immutable views of the state at one index. A request reads from one snapshot. */
import type { Clock } from '../clock/clock.ts';
import type { AnyTable } from '../table.ts';
import { createDerivedCache, type DerivedCache, getTableValue } from './derived-cache.ts';
import { createReader, type Reader } from './reader.ts';
import type { TableIndexes } from './table-indexes.ts';

export interface SnapshotData {
  readonly cluster: string;
  readonly epoch: number;
  /** The index of the newest commit in the snapshot. */
  readonly index: number;
  /** Whether the tables may contain rows without their owner. Reads hide such rows. */
  readonly mayHaveOrphans: boolean;
  readonly tables: ReadonlyMap<AnyTable, TableIndexes>;
}

export interface Snapshot extends SnapshotData, Reader {
  /** Rows in memory, orphans included. */
  readonly rowCount: number;
  /** Returns the cached result of `make` for `key` in this snapshot. See `DerivedCache.get`. */
  readonly memoize: DerivedCache['get'];
  /**
   * Returns the cached result of `make` for `key`, shared by all snapshots in which `table` has the same rows.
   *
   * `make` may read rows of this table only. While the value is in use, these rows must neither expire nor lose their
   * owner, because neither changes the table. `key` must name an existing owner of rows, never text that a client
   * chooses freely.
   */
  memoizeWhileUnchanged<T>(table: AnyTable, key: string, make: () => T): T;
}

/** Returns a snapshot over tables that no longer change. */
export function createSnapshot(data: SnapshotData, clock: Clock): Snapshot {
  const cache = createDerivedCache();
  const tableIndexes = (table: AnyTable): TableIndexes => {
    const indexes = data.tables.get(table);
    if (indexes === undefined) throw new TypeError(`table '${table.name}' is not in memory`);
    return indexes;
  };
  const reader = createReader({
    tableIndexes,
    now: () => clock.now(),
    mayHaveOrphans: () => data.mayHaveOrphans,
  });
  return {
    ...data,
    ...reader,
    get rowCount() {
      let count = 0;
      for (const { rows } of data.tables.values()) count += rows.size;
      return count;
    },
    memoize: cache.get,
    memoizeWhileUnchanged: (table, key, make) => getTableValue(tableIndexes(table), key, make),
  };
}
