/**
 * The stored form of a row: `[format, createIndex, modifyIndex, row]` as JSON. A server writes a new format only when
 * every live server reads it, so versions can be mixed during a rolling upgrade. See [STATE-27] and [STATE-29].
 */

import type { LiveNode } from '../engine/engine.ts';
import { StateError } from '../errors.ts';
import type { AnyTable, Stored } from '../table.ts';

export function encodeRow(table: AnyTable, stored: Stored<unknown>, format: number): string {
  const row = format === table.formats.version ? stored.row : table.formats.write?.[format]?.(stored.row);
  return JSON.stringify([format, stored.createIndex, stored.modifyIndex, row]);
}

/** Parses the stored text of a row. @throws StateError `corrupt` if it is damaged or a newer version wrote it */
export function decodeRow(table: AnyTable, key: string, value: string): Stored<unknown> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(value);
  } catch (cause) {
    throw new StateError('corrupt', `row '${key}' of table '${table.name}' is not JSON: it is damaged`, { cause });
  }
  if (!Array.isArray(parsed) || parsed.length !== 4) {
    throw new StateError('corrupt', `row '${key}' of table '${table.name}' is not a stored row: it is damaged`);
  }
  const [format, createIndex, modifyIndex, raw] = parsed as [number, number, number, unknown];
  if (format === table.formats.version) return { row: raw as object, createIndex, modifyIndex };
  const read = table.formats.read?.[format];
  if (read === undefined) {
    throw new StateError(
      'corrupt',
      `row '${key}' of table '${table.name}' has format ${format}, but this version reads up to ` +
        `${table.formats.version}: a newer version of Accord wrote it; run that version or a later one`,
    );
  }
  return { row: read(raw) as object, createIndex, modifyIndex };
}

/** Returns the newest format of each table that this version reads, as the server publishes it to others. */
export function readableFormats(tables: readonly AnyTable[]): Record<string, number> {
  return Object.fromEntries(tables.map((table) => [table.name, table.formats.version]));
}

/**
 * Returns the newest format that every live server reads. If this version cannot write that format, returns the newest
 * format of this version.
 */
export function formatToWrite(table: AnyTable, members: readonly LiveNode[]): number {
  let format = table.formats.version;
  for (const member of members) format = Math.min(format, member.formats[table.name] ?? format);
  if (format === table.formats.version || table.formats.write?.[format] !== undefined) return format;
  return table.formats.version;
}
