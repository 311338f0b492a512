/** Immutable views of the state at one index. A request reads from one snapshot. */
import type { Clock } from '../clock/clock.ts';
import type { Steps } from '../clock/slices.ts';
import type { AnyTable } from '../table.ts';
import type { DerivedCache } from './derived-cache.ts';
import { createReader, type Reader } from './reader.ts';
import type { RowCounts } from './row-counts.ts';
import type { TableIndexes } from './table-indexes.ts';

export interface SnapshotData {
  readonly cluster: string;
  readonly epoch: number;
  /** The index of the newest commit in the snapshot. */
  readonly index: number;
  /** Whether the tables may contain rows without their owner. Reads hide such rows. */
  readonly mayHaveOrphans: boolean;
  readonly tables: ReadonlyMap<AnyTable, TableIndexes>;
  /** Counts orphans, like `tables`. */
  readonly rowCounts: RowCounts;
}

export interface Snapshot extends SnapshotData, Reader {
  /** Rows in memory, orphans included. */
  readonly rowCount: number;
  /** The estimated memory of these rows with their index entries. */
  readonly rowBytes: number;
  /**
   * Returns the cached result of `make` for `key` in this snapshot. `bytesOf` estimates the memory of the result alone,
   * without its key and without rows.
   */
  memoize<T>(key: string, make: () => T, bytesOf: (value: T) => number): T;
  /**
   * Returns the cached result of `make` for `key`, shared by all snapshots in which `table` has the same rows.
   * For `bytesOf`, see `memoize`.
   *
   * `make` may read rows of this table only. While the value is in use, these rows must neither expire nor lose their
   * owner, because neither changes the table. `key` must name an existing owner of rows, never text that a client
   * chooses freely.
   */
  memoizeWhileUnchanged<T>(table: AnyTable, key: string, make: () => T, bytesOf: (value: T) => number): T;
  /** As `memoize`, for a result that takes long to make. */
  memoizeInSlices<T>(key: string, make: () => Steps<T>, bytesOf: (value: T) => number): Steps<T>;
  /** As `memoizeWhileUnchanged`, for a result that takes long to make. */
  memoizeWhileUnchangedInSlices<T>(
    table: AnyTable,
    key: string,
    make: () => Steps<T>,
    bytesOf: (value: T) => number,
  ): Steps<T>;
}

/** Returns the estimated memory of all rows of `tables`. */
function rowBytesOf(tables: SnapshotData['tables']): number {
  let bytes = 0;
  for (const indexes of tables.values()) bytes += indexes.bytes;
  return bytes;
}

/** Returns a snapshot over tables that no longer change. Its derived values are kept in `cache`. */
export function createSnapshot(data: SnapshotData, clock: Clock, cache: DerivedCache): Snapshot {
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
  const snapshot: Snapshot = {
    ...data,
    ...reader,
    get rowCount() {
      let count = 0;
      for (const { rows } of data.tables.values()) count += rows.size;
      return count;
    },
    get rowBytes() {
      return rowBytesOf(data.tables);
    },
    memoize: (key, make, bytesOf) => cache.get(snapshot, key, make, bytesOf),
    // The indexes of a table are the same object until a commit changes one of its rows.
    memoizeWhileUnchanged: (table, key, make, bytesOf) => cache.get(tableIndexes(table), key, make, bytesOf),
    memoizeInSlices: (key, make, bytesOf) => cache.getInSlices(snapshot, key, make, bytesOf),
    memoizeWhileUnchangedInSlices: (table, key, make, bytesOf) =>
      cache.getInSlices(tableIndexes(table), key, make, bytesOf),
  };
  return snapshot;
}
