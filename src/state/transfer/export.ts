/** Writes a consistent snapshot of the whole state in the format of export-format.ts. */
import { createHash } from 'node:crypto';
import { nextTurn } from '../clock/next-turn.ts';
import { encodeRow } from '../memory/codec.ts';
import type { Snapshot } from '../memory/snapshot.ts';
import type { State } from '../state.ts';
import type { AnyTable, Stored } from '../table.ts';
import type { TextCipher } from './encryption.ts';
import {
  associatedData,
  EXPORT_FORMAT,
  EXPORT_VERSION,
  type ExportEnd,
  type ExportHeader,
  type ExportRow,
} from './export-format.ts';

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
    sealed: cipher?.keySource ?? null,
    leftOut: cipher === undefined ? countSecrets(state, snapshot) : {},
  };
  yield hashed(`${JSON.stringify(header)}\n`);
  let rows = 0;
  for (const table of state.schema.tables) {
    if (table.holdsSecrets && cipher === undefined) continue;
    const slices = table.storeOnly ? storedSlices(state, table, snapshot, signal) : memorySlices(table, snapshot);
    for await (const slice of slices) {
      signal.throwIfAborted();
      rows += slice.length;
      for (const chunk of chunksOf(slice, (stored) => rowLine(table, stored, cipher))) {
        yield hashed(chunk);
        await nextTurn();
      }
    }
  }
  const end: ExportEnd = { rows, sha256: digest.digest('hex') };
  yield `${JSON.stringify(end)}\n`;
}

/** Yields the joined lines of rows in chunks of about CHUNK_CHARACTERS. */
function* chunksOf(rows: readonly Stored<unknown>[], lineOf: (stored: Stored<unknown>) => string): Generator<string> {
  let lines: string[] = [];
  let characters = 0;
  for (const stored of rows) {
    const line = lineOf(stored);
    lines.push(line);
    characters += line.length;
    if (characters < CHUNK_CHARACTERS) continue;
    yield lines.join('');
    lines = [];
    characters = 0;
  }
  if (lines.length > 0) yield lines.join('');
}

function rowLine(table: AnyTable, stored: Stored<unknown>, cipher: TextCipher | undefined): string {
  const key = table.key(stored.row as object);
  const value = encodeRow(table, stored, table.formats.version);
  const row: ExportRow =
    table.holdsSecrets && cipher !== undefined
      ? { table: table.name, key, sealed: cipher.encrypt(value, associatedData(table.name, key)) }
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

/** Yields the rows of a store-only table up to the snapshot. Such rows never change, so comparing indexes is enough. */
async function* storedSlices(
  state: State,
  table: AnyTable,
  { index }: Snapshot,
  signal: AbortSignal,
): AsyncGenerator<Stored<unknown>[]> {
  let from = '';
  for (let limit = FIRST_SLICE_ROWS; ; ) {
    const slice = (await state.scan(table, { from, limit }, signal)) as Stored<unknown>[];
    const last = slice.at(-1);
    if (last === undefined) return;
    yield slice.filter((stored) => stored.modifyIndex <= index);
    // By the largest row, because a mean would hide it. Small rows predict little about the next ones.
    const largest = slice.reduce((length, { row }) => Math.max(length, JSON.stringify(row).length), 1);
    limit = Math.max(1, Math.min(SLICE_ROWS, 2 * limit, Math.floor(CHUNK_CHARACTERS / largest)));
    // The smallest key after the last one.
    from = `${table.key(last.row as object)}\u0000`;
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
