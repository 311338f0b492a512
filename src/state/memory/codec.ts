/**
 * The stored form of a row: `[format, createIndex, modifyIndex, row]` as JSON. A server writes a new format only when
 * every other server reads it, so versions can be mixed during a rolling upgrade. See [STATE-27] and [STATE-29].
 */

import type { TableFormats } from '../engine/engine.ts';
import { StateError } from '../errors.ts';
import type { AnyTable, Stored } from '../table.ts';

export function encodeRow(table: AnyTable, stored: Stored<unknown>, format: number): string {
  const row = format === table.formats.version ? stored.row : table.formats.write?.[format]?.(stored.row);
  return JSON.stringify([format, stored.createIndex, stored.modifyIndex, row]);
}

/** The error of a row that is not as Accord wrote it. */
export class DamagedRowError extends StateError {
  readonly table: string;
  readonly key: string;

  constructor(table: AnyTable, key: string, problem: string, options: { readonly cause?: unknown } = {}) {
    super('corrupt', `row '${key}' of table '${table.name}' ${problem}: it is damaged`, options);
    this.table = table.name;
    this.key = key;
  }
}

/**
 * Parses the stored text of a row. `null` stands for a row that the store has found damaged.
 * @throws DamagedRowError; StateError `corrupt` if a newer version wrote the row
 */
export function decodeRow(table: AnyTable, key: string, value: string | null): Stored<unknown> {
  if (value === null) throw new DamagedRowError(table, key, 'does not match its checksum');
  let parsed: unknown;
  try {
    parsed = JSON.parse(value);
  } catch (cause) {
    throw new DamagedRowError(table, key, 'is not JSON', { cause });
  }
  if (!Array.isArray(parsed) || parsed.length !== 4) throw new DamagedRowError(table, key, 'is not a stored row');
  const [format, createIndex, modifyIndex, raw] = parsed as [number, number, number, unknown];
  const stored = { row: readRow(table, key, format, raw), createIndex, modifyIndex };
  if (keyOf(table, stored.row) !== key) throw new DamagedRowError(table, key, 'has another key in its content');
  return stored;
}

function readRow(table: AnyTable, key: string, format: number, raw: unknown): object {
  if (format === table.formats.version) return raw as object;
  const read = table.formats.read?.[format];
  if (read !== undefined) return read(raw) as object;
  throw new StateError(
    'corrupt',
    `row '${key}' of table '${table.name}' has format ${format}, but this version reads up to ` +
      `${table.formats.version}: a newer version of Accord wrote it; run that version or a later one`,
  );
}

/** Returns the key of a row; `undefined` for content of another form. */
function keyOf(table: AnyTable, row: object): string | undefined {
  try {
    return table.key(row);
  } catch {
    return undefined;
  }
}

/** Returns the newest format of each table that this version reads, as the server publishes it to others. */
export function readableFormats(tables: readonly AnyTable[]): TableFormats {
  return Object.fromEntries(tables.map((table) => [table.name, table.formats.version]));
}

/**
 * Returns the formats to write: for each table the newest one of this version that every server reads. If this version
 * cannot write that format, it is the newest one of this version.
 * @param readable the newest formats that every server reads
 */
export function formatsToWrite(tables: readonly AnyTable[], readable: TableFormats): TableFormats {
  return Object.fromEntries(tables.map((table) => [table.name, formatToWrite(table, readable[table.name])]));
}

function formatToWrite({ formats: { version, write } }: AnyTable, readable = version): number {
  return readable < version && write?.[readable] !== undefined ? readable : version;
}
