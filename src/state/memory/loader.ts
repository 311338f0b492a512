/**
 * Builds the whole state from the pages of the engine's `load`, in slices between which the process answers requests.
 */

import { nextTurn } from '../clock/next-turn.ts';
import type { Engine, Head, StoredRow } from '../engine/engine.ts';
import { StateError } from '../errors.ts';
import { SLICE_ROWS } from '../limits.ts';
import { type AnyTable, indexOf, type Schema, type Stored } from '../table.ts';
import { decodeRow } from './codec.ts';
import { type LoadedState, memoryTables } from './committed-state.ts';
import type { MemoryCapacity } from './memory-capacity.ts';
import { countRows } from './row-counts.ts';
import { rowBytes } from './row-size.ts';
import { buildPrimaryIndex, buildSecondaryIndex, type LoadedRows, type TableIndexes } from './table-indexes.ts';

interface Collected extends LoadedRows {
  readonly table: AnyTable;
  /** See `TableIndexes.bytes`. */
  bytes: number;
}

/**
 * Loads every table except store-only ones.
 * @throws StateError `corrupt`; `memory-full` if the rows do not fit into memory; and the errors of `engine.load`
 */
export async function loadState(
  engine: Engine,
  schema: Schema,
  memory: MemoryCapacity,
  floor: Head | undefined,
  signal: AbortSignal,
): Promise<LoadedState> {
  const collected = new Map<string, Collected>();
  for (const table of memoryTables(schema)) collected.set(table.name, { table, keys: [], rows: [], bytes: 0 });
  let bytes = 0;
  const readPage = async (page: readonly StoredRow[]): Promise<void> => {
    for (let start = 0; start < page.length; start += SLICE_ROWS) {
      for (const { table: name, key, value } of page.slice(start, start + SLICE_ROWS)) {
        // Tables of a newer version stay in the store, unread.
        const target = collected.get(name);
        if (target === undefined) continue;
        const stored = decodeRow(target.table, key, value);
        // Equal to `key`. Shares the string with the row where possible, which saves one string per row.
        const rowKey = target.table.key(stored.row as object);
        target.keys.push(rowKey);
        target.rows.push(stored);
        const size = rowBytes(target.table, rowKey, stored);
        target.bytes += size;
        bytes += size;
      }
      if (bytes > memory.loadBytesMax) throw tooLargeToLoad(memory);
      await nextTurn();
    }
  };
  const head = await engine.load(
    readPage,
    () => {
      bytes = 0;
      for (const target of collected.values()) {
        target.keys.length = 0;
        target.rows.length = 0;
        target.bytes = 0;
      }
    },
    floor,
    signal,
  );
  const tables = new Map<AnyTable, TableIndexes>();
  const orphanedKeys = new Map<AnyTable, Set<string>>();
  for (const target of collected.values()) {
    const { table } = target;
    const alive = table.owners === undefined ? target : await splitOrphans(target, tables, orphanedKeys);
    const rows = buildPrimaryIndex(alive);
    await nextTurn();
    const secondary: TableIndexes['secondary'][number][] = [];
    for (const index of table.indexList) {
      secondary.push(buildSecondaryIndex(index, alive));
      await nextTurn();
    }
    tables.set(table, { rows, secondary, bytes: target.bytes });
    collected.delete(table.name);
  }
  const rowCounts = await countRows(schema, (table) => (tables.get(table) as TableIndexes).rows);
  return { cluster: head.cluster, epoch: head.epoch, index: head.index, tables, rowCounts, orphanedKeys };
}

/** Returns the error for a store that holds more than this server's memory. */
export const tooLargeToLoad = ({ loadBytesMax, reason }: MemoryCapacity): StateError =>
  new StateError(
    'memory-full',
    `the rows in the store need more than the ${Math.floor(loadBytesMax / 2 ** 20)} MiB that this server can load: ${reason}`,
  );

/** Returns the rows whose owners exist, and adds the keys of the others to `orphanedKeys`. Owners are in `tables`. */
async function splitOrphans(
  loaded: Collected,
  tables: ReadonlyMap<AnyTable, TableIndexes>,
  orphanedKeys: Map<AnyTable, Set<string>>,
): Promise<LoadedRows> {
  const { table } = loaded;
  const owners = (table.owners ?? []).map((owner) => ({
    rows: (tables.get(owner.table) as TableIndexes).rows,
    entry: indexOf(table, owner.index).entry,
  }));
  const keys: string[] = [];
  const rows: Stored<unknown>[] = [];
  const orphaned = new Set<string>();
  for (let i = 0; i < loaded.keys.length; i++) {
    const key = loaded.keys[i] as string;
    const stored = loaded.rows[i] as Stored<unknown>;
    const alive = owners.every(({ rows: ownerRows, entry }) => {
      const ownerKey = entry(stored.row);
      return ownerKey === undefined || ownerRows.has(ownerKey);
    });
    if (alive) {
      keys.push(key);
      rows.push(stored);
    } else {
      orphaned.add(key);
      loaded.bytes -= rowBytes(table, key, stored);
    }
    if (i % SLICE_ROWS === SLICE_ROWS - 1) await nextTurn();
  }
  if (orphaned.size > 0) orphanedKeys.set(table, orphaned);
  return { keys, rows };
}
