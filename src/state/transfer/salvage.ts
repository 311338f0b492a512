/** Exports what is whole of a damaged SQLite database, and rebuilds a database from it. */
import { randomUUID } from 'node:crypto';
import { EPOCH_STEP, type Head, type StoredRow } from '../engine/engine.ts';
import { sqliteEngine } from '../engine/sqlite/engine.ts';
import type { Salvage } from '../engine/sqlite/salvage.ts';
import { DamagedRowError, decodeRow } from '../memory/codec.ts';
import type { AnyTable, Schema, Stored } from '../table.ts';
import type { TextCipher } from './encryption.ts';
import { type ExportSlice, writeExport } from './export.ts';
import type { Skipped } from './export-format.ts';
import { SkippedRowsList } from './skipped-rows.ts';

/** Rows of one table in a slice. */
const SLICE_ROWS = 500;

/** Yields the chunks of an export of the whole rows. Without a cipher, rows that hold secrets are left out. */
export async function* exportSalvage(
  salvage: Salvage,
  schema: Schema,
  { cipher, now }: { readonly cipher: TextCipher | undefined; readonly now: number },
): AsyncGenerator<string> {
  const { head, rows } = survey(salvage, schema);
  const isLeftOut = (table: AnyTable): boolean => table.holdsSecrets === true && cipher === undefined;
  const leftOut = Object.fromEntries(
    schema.tables
      .filter((table) => isLeftOut(table) && rows.has(table.name))
      .map(({ name }) => [name, rows.get(name) ?? 0]),
  );
  const skipped = new SkippedRowsList();
  async function* slices(): AsyncGenerator<ExportSlice> {
    for (const slice of wholeSlices(salvage, schema, skipped)) if (!isLeftOut(slice.table)) yield slice;
  }
  yield* writeExport(head, slices(), { cipher, now, leftOut, skipped });
}

/** Creates a database in an empty directory from the whole rows. @returns the rows that it lacks */
export async function rebuildFrom(
  salvage: Salvage,
  schema: Schema,
  directory: string,
  signal: AbortSignal,
): Promise<Skipped | undefined> {
  const { head } = survey(salvage, schema);
  const skipped = new SkippedRowsList();
  async function* pages(): AsyncGenerator<readonly StoredRow[]> {
    for (const { rows } of wholeSlices(salvage, schema, skipped)) yield rows;
  }
  await using engine = sqliteEngine({ directory });
  const ignore = (): void => undefined;
  const follower = {
    onCommit: ignore,
    onBreak: ignore,
    onLiveNodes: ignore,
    onFormats: ignore,
    onStatus: ignore,
    onFatal: ignore,
  };
  await engine.open({ node: 'rebuild', formats: {}, storeOnly: new Set() }, follower, signal);
  // As after a restore: clients have received indexes of commits that may be lost.
  await engine.import({ ...head, epoch: head.epoch + 1, index: head.index + EPOCH_STEP }, pages(), signal);
  return skipped.all;
}

/** Returns the head, with an index that no row exceeds, and the number of whole rows by table. */
function survey(salvage: Salvage, schema: Schema): { readonly head: Head; readonly rows: ReadonlyMap<string, number> } {
  const head = salvage.head ?? { cluster: randomUUID(), epoch: 1, index: 1 };
  let { index } = head;
  const counts = new Map<string, number>();
  for (const row of salvage.rows(() => undefined)) {
    const stored = decodeKnown(schema, row);
    if (stored === undefined) continue;
    index = Math.max(index, stored.modifyIndex);
    counts.set(row.table, (counts.get(row.table) ?? 0) + 1);
  }
  return { head: { ...head, index }, rows: counts };
}

/** Yields the whole rows, and adds all others to `skipped`. */
function* wholeSlices(salvage: Salvage, schema: Schema, skipped: SkippedRowsList): Generator<ExportSlice> {
  const slices = new Map<string, StoredRow[]>();
  const counts = new Map<string, number>();
  for (const row of salvage.rows((table, key) => skipped.add(table, key))) {
    const table = schema.byName.get(row.table);
    if (table === undefined || decodeKnown(schema, row) === undefined) {
      skipped.add(row.table, row.key);
      continue;
    }
    counts.set(row.table, (counts.get(row.table) ?? 0) + 1);
    const slice = slices.get(row.table) ?? [];
    slices.set(row.table, slice);
    if (slice.push(row) === SLICE_ROWS) yield { table, rows: slice.splice(0) };
  }
  for (const [name, rows] of slices) yield { table: schema.byName.get(name) as AnyTable, rows };
  for (const [table, expected] of salvage.expectedRows) skipped.addMissing(table, expected - (counts.get(table) ?? 0));
}

/** Decodes a row. Returns `undefined` for one that is damaged, or of a table that this version does not know. */
function decodeKnown(schema: Schema, { table: name, key, value }: StoredRow): Stored<unknown> | undefined {
  const table = schema.byName.get(name);
  try {
    return table === undefined ? undefined : decodeRow(table, key, value);
  } catch (error) {
    if (error instanceof DamagedRowError) return undefined;
    throw error;
  }
}
