/** Writes a consistent snapshot of the whole state in the format of export-format.ts. */
import { createHash } from 'node:crypto';
import { nextTurn } from '../clock/next-turn.ts';
import type { Head, StoredRow } from '../engine/engine.ts';
import { isStateError } from '../errors.ts';
import { type DamagedRowError, encodeRow } from '../memory/codec.ts';
import type { Snapshot } from '../memory/snapshot.ts';
import type { State } from '../state.ts';
import { type AnyTable, keyAfter, type Stored } from '../table.ts';
import type { TextCipher } from './encryption.ts';
import {
  associatedData,
  EXPORT_FORMAT,
  EXPORT_VERSION,
  type ExportEnd,
  type ExportHeader,
  type ExportRow,
} from './export-format.ts';
import { SkippedRowsList } from './skipped-rows.ts';

/** Rows that are read at once. */
const SLICE_ROWS = 500;
/** Rows of the first slice that is read from the store, when their size is unknown. */
const FIRST_SLICE_ROWS = 8;
/** Characters of a chunk, which is written in one turn of the event loop, and of the rows that the store reads at once. */
const CHUNK_CHARACTERS = 256 * 1024;

export interface ExportOptions {
  /** Encrypts rows that hold secrets. Without it, they are left out. */
  readonly cipher: TextCipher | undefined;
  readonly now: number;
  readonly signal: AbortSignal;
}

/** Yields the chunks of an export, each of whole lines. The snapshot is taken at the first chunk. */
export async function* exportState(state: State, { cipher, now, signal }: ExportOptions): AsyncGenerator<string> {
  const { snapshot } = state;
  const { cluster, epoch, index } = snapshot;
  const leftOut = cipher === undefined ? countSecrets(state, snapshot) : {};
  const skipped = new SkippedRowsList();
  yield* writeExport({ cluster, epoch, index }, slices(), { cipher, now, leftOut, skipped });

  async function* slices(): AsyncGenerator<ExportSlice> {
    for (const table of state.schema.tables) {
      if (table.holdsSecrets && cipher === undefined) continue;
      const found = table.storeOnly
        ? storedSlices(state, table, snapshot, skipped, signal)
        : memorySlices(table, snapshot);
      for await (const slice of found) {
        signal.throwIfAborted();
        for (const rows of chunksOf(slice, (stored) => storedRow(table, stored))) yield { table, rows };
      }
    }
  }
}

/** Rows of one table, written in one chunk. */
export interface ExportSlice {
  readonly table: AnyTable;
  readonly rows: readonly StoredRow[];
}

export interface ExportParts {
  readonly cipher: TextCipher | undefined;
  readonly now: number;
  readonly leftOut: ExportHeader['leftOut'];
  /** Read after the last slice. */
  readonly skipped: SkippedRowsList;
}

/** Yields the lines of an export of these rows, a chunk for each slice. */
export async function* writeExport(
  head: Head,
  slices: AsyncIterable<ExportSlice>,
  { cipher, now, leftOut, skipped }: ExportParts,
): AsyncGenerator<string> {
  const digest = createHash('sha256');
  const hashed = (chunk: string): string => {
    digest.update(chunk);
    return chunk;
  };
  const header: ExportHeader = {
    format: EXPORT_FORMAT,
    version: EXPORT_VERSION,
    ...head,
    time: new Date(now).toISOString(),
    sealed: cipher?.keySource ?? null,
    leftOut,
  };
  yield hashed(`${JSON.stringify(header)}\n`);
  let count = 0;
  for await (const { table, rows } of slices) {
    count += rows.length;
    yield hashed(rows.map((row) => rowLine(table, row, cipher)).join(''));
    await nextTurn();
  }
  const all = skipped.all;
  const end: ExportEnd = { rows: count, ...(all === undefined ? {} : { skipped: all }), sha256: digest.digest('hex') };
  yield `${JSON.stringify(end)}\n`;
}

/** Yields rows in chunks of about CHUNK_CHARACTERS. */
function* chunksOf(
  rows: readonly Stored<unknown>[],
  toStored: (row: Stored<unknown>) => StoredRow,
): Generator<StoredRow[]> {
  let chunk: StoredRow[] = [];
  let characters = 0;
  for (const row of rows) {
    const stored = toStored(row);
    chunk.push(stored);
    characters += stored.value.length;
    if (characters < CHUNK_CHARACTERS) continue;
    yield chunk;
    chunk = [];
    characters = 0;
  }
  if (chunk.length > 0) yield chunk;
}

function storedRow(table: AnyTable, stored: Stored<unknown>): StoredRow {
  const key = table.key(stored.row as object);
  return { table: table.name, key, value: encodeRow(table, stored, table.formats.version) };
}

function rowLine({ holdsSecrets }: AnyTable, { table, key, value }: StoredRow, cipher: TextCipher | undefined): string {
  const row: ExportRow =
    holdsSecrets && cipher !== undefined
      ? { table, key, sealed: cipher.encrypt(value, associatedData(table, key)) }
      : { table, key, value };
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

/**
 * Yields the rows of a store-only table up to the snapshot. Such rows never change, so comparing indexes is enough.
 * Damaged rows never prevent an export, but are added to `skipped`.
 */
async function* storedSlices(
  state: State,
  table: AnyTable,
  { index }: Snapshot,
  skipped: SkippedRowsList,
  signal: AbortSignal,
): AsyncGenerator<Stored<unknown>[]> {
  const onDamaged = ({ key }: DamagedRowError): void => skipped.add(table.name, key);
  let from = '';
  for (let limit = FIRST_SLICE_ROWS; ; ) {
    let slice: Stored<unknown>[];
    try {
      slice = (await state.scan(table, { from, limit }, signal, onDamaged)) as Stored<unknown>[];
    } catch (error) {
      if (!isStateError(error, 'corrupt')) throw error;
      skipped.addUnreadable(table.name, error.message);
      return;
    }
    const last = slice.at(-1);
    if (last === undefined) return;
    yield slice.filter((stored) => stored.modifyIndex <= index);
    // By the largest row, because a mean would hide it. Small rows predict little about the next ones.
    const largest = slice.reduce((length, { row }) => Math.max(length, JSON.stringify(row).length), 1);
    limit = Math.max(1, Math.min(SLICE_ROWS, 2 * limit, Math.floor(CHUNK_CHARACTERS / largest)));
    from = keyAfter(table.key(last.row as object));
  }
}

function countSecrets(state: State, snapshot: Snapshot): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const table of state.schema.tables) {
    if (!table.holdsSecrets || table.storeOnly) continue;
    const rows = snapshot.tables.get(table)?.rows.size ?? 0;
    if (rows > 0) counts[table.name] = rows;
  }
  return counts;
}
