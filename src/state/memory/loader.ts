/** Builds a whole state from what the engine's `load` delivers, in slices, so that the process answers meanwhile. */

import { nextTurn } from '../clock/next-turn.ts';
import type { Engine, Head, StoredRow } from '../engine/engine.ts';
import { SLICE_ROWS } from '../limits.ts';
import { type AnyTable, indexOf, type Schema, type Stored } from '../table.ts';
import { decodeRow } from './codec.ts';
import { type LoadedState, memoryTables } from './committed-state.ts';
import { buildIndexTree, buildRowTree, type LoadedRows, type TableTrees } from './table-indexes.ts';

interface Collected extends LoadedRows {
  readonly table: AnyTable;
}

/** Reads everything. @throws StateError `corrupt`, and what `engine.load` throws */
export async function loadState(
  engine: Engine,
  schema: Schema,
  floor: Head | undefined,
  signal: AbortSignal,
): Promise<LoadedState> {
  const collected = new Map<string, Collected>();
  for (const table of memoryTables(schema)) collected.set(table.name, { table, keys: [], rows: [] });
  const readPage = async (page: readonly StoredRow[]): Promise<void> => {
    for (let start = 0; start < page.length; start += SLICE_ROWS) {
      for (const { table: name, key, value } of page.slice(start, start + SLICE_ROWS)) {
        // A table of a newer version stays in the store, out of sight.
        const target = collected.get(name);
        if (target === undefined) continue;
        const stored = decodeRow(target.table, key, value);
        const own = target.table.key(stored.row as object);
        // The row's own text where it is its key, as it mostly is: one text instead of two, a million times.
        target.keys.push(own === key ? own : key);
        target.rows.push(stored);
      }
      await nextTurn();
    }
  };
  const head = await engine.load(
    readPage,
    () => {
      for (const { keys, rows } of collected.values()) {
        keys.length = 0;
        rows.length = 0;
      }
    },
    floor,
    signal,
  );
  const trees = new Map<AnyTable, TableTrees>();
  const doomed = new Map<AnyTable, Set<string>>();
  for (const target of collected.values()) {
    const { table } = target;
    const living = table.owners === undefined ? target : await splitOrphans(target, trees, doomed);
    const rows = buildRowTree(living);
    await nextTurn();
    const indexes: TableTrees['indexes'][number][] = [];
    for (const index of table.indexList) {
      indexes.push(buildIndexTree(index, living));
      await nextTurn();
    }
    trees.set(table, { rows, indexes });
    collected.delete(table.name);
  }
  return { cluster: head.cluster, epoch: head.epoch, index: head.index, trees, doomed };
}

/** Keeps the rows whose owners are there; the schema's order has their tables built already. */
async function splitOrphans(
  loaded: Collected,
  trees: ReadonlyMap<AnyTable, TableTrees>,
  doomed: Map<AnyTable, Set<string>>,
): Promise<LoadedRows> {
  const { table } = loaded;
  const owners = (table.owners ?? []).map((owner) => ({
    rows: (trees.get(owner.table) as TableTrees).rows,
    entry: indexOf(table, owner.index).entry,
  }));
  const keys: string[] = [];
  const rows: Stored<unknown>[] = [];
  const gone = new Set<string>();
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
      gone.add(key);
    }
    if (i % SLICE_ROWS === SLICE_ROWS - 1) await nextTurn();
  }
  if (gone.size > 0) doomed.set(table, gone);
  return { keys, rows };
}
