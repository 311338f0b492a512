/** Writes a consistent picture of the whole state as JSON lines; see export-format.ts. */
import { createHash } from 'node:crypto';
import { nextTurn } from '../clock/next-turn.ts';
import { encodeRow } from '../memory/codec.ts';
import type { Snapshot } from '../memory/snapshot.ts';
import type { State } from '../state.ts';
import type { AnyTable, Stored } from '../table.ts';
import type { Sealer } from './encryption.ts';
import {
  EXPORT_FORMAT,
  EXPORT_VERSION,
  type ExportEnd,
  type ExportHeader,
  type ExportRow,
  sealPlace,
} from './export-format.ts';

/** Rows written in one turn of the event loop, and as one chunk. */
const SLICE_ROWS = 500;

export interface ExportOptions {
  /** Seals rows that hold secrets; without it they are left out. */
  readonly sealer: Sealer | undefined;
  readonly now: number;
  readonly signal: AbortSignal;
}

/** The chunks of an export, each of whole lines. The picture is the one at the first chunk. */
export async function* exportState(state: State, { sealer, now, signal }: ExportOptions): AsyncGenerator<string> {
  const { snapshot } = state;
  const digest = createHash('sha256');
  const hashed = (chunk: string): string => {
    digest.update(chunk);
    return chunk;
  };
  const header: ExportHeader = {
    format: EXPORT_FORMAT,
    version: EXPORT_VERSION,
    cluster: snapshot.cluster,
    epoch: snapshot.epoch,
    index: snapshot.index,
    time: new Date(now).toISOString(),
    sealed: sealer?.recipe ?? null,
    leftOut: sealer === undefined ? countSecrets(state, snapshot) : {},
  };
  yield hashed(`${JSON.stringify(header)}\n`);
  let rows = 0;
  for (const table of state.schema.tables) {
    if (table.holdsSecrets && sealer === undefined) continue;
    const slices = table.storeOnly ? storedSlices(state, table, snapshot, signal) : memorySlices(table, snapshot);
    for await (const slice of slices) {
      signal.throwIfAborted();
      rows += slice.length;
      yield hashed(slice.map((stored) => rowLine(table, stored, sealer)).join(''));
      await nextTurn();
    }
  }
  const end: ExportEnd = { rows, sha256: digest.digest('hex') };
  yield `${JSON.stringify(end)}\n`;
}

function rowLine(table: AnyTable, stored: Stored<unknown>, sealer: Sealer | undefined): string {
  const key = table.key(stored.row as object);
  const value = encodeRow(table, stored, table.formats.version);
  const row: ExportRow =
    table.holdsSecrets && sealer !== undefined
      ? { table: table.name, key, sealed: sealer.seal(value, sealPlace(table.name, key)) }
      : { table: table.name, key, value };
  return `${JSON.stringify(row)}\n`;
}

function* memorySlices(table: AnyTable, snapshot: Snapshot): Generator<Stored<unknown>[]> {
  let after: string | undefined;
  for (;;) {
    const slice = snapshot.all(table, after === undefined ? { limit: SLICE_ROWS } : { after, limit: SLICE_ROWS });
    const last = slice.at(-1);
    if (last === undefined) return;
    yield slice as Stored<unknown>[];
    after = table.key(last.row as object);
  }
}

/** Rows of a store-only table that the picture holds: nothing is ever changed there, so its index is enough. */
async function* storedSlices(
  state: State,
  table: AnyTable,
  { index }: Snapshot,
  signal: AbortSignal,
): AsyncGenerator<Stored<unknown>[]> {
  let from = '';
  for (;;) {
    const slice = (await state.scan(table, { from, limit: SLICE_ROWS }, signal)) as Stored<unknown>[];
    const last = slice.at(-1);
    if (last === undefined) return;
    yield slice.filter((stored) => stored.modifyIndex <= index);
    // The smallest key after the last one.
    from = `${table.key(last.row as object)}\u0000`;
  }
}

function countSecrets(state: State, snapshot: Snapshot): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const table of state.schema.tables) {
    if (!table.holdsSecrets || table.storeOnly) continue;
    const rows = snapshot.trees.get(table)?.rows.size ?? 0;
    if (rows > 0) counts[table.name] = rows;
  }
  return counts;
}
