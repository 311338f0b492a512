/**
 * How a row lies in the store: `[format, createIndex, modifyIndex, row]` as JSON.
 * A new format is written only when every live node reads it, so that versions can be mixed while an upgrade rolls.
 */

import type { Member } from '../engine/engine.ts';
import { StateError } from '../errors.ts';
import type { AnyTable, Stored } from '../table.ts';

/** The text that is stored for a row. */
export function encodeRow(table: AnyTable, stored: Stored<unknown>, format: number): string {
  const row = format === table.formats.version ? stored.row : table.formats.write?.[format]?.(stored.row);
  return JSON.stringify([format, stored.createIndex, stored.modifyIndex, row]);
}

/** The row that a stored text holds. @throws StateError `corrupt` when it is damaged or of a newer version */
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
      `row '${key}' of table '${table.name}' has format ${format}, this version reads up to ${table.formats.version}: ` +
        'a newer version of Accord wrote it; run that version or a later one',
    );
  }
  return { row: read(raw) as object, createIndex, modifyIndex };
}

/** The formats that this version reads, as its node row says. */
export function readableFormats(tables: readonly AnyTable[]): Record<string, number> {
  return Object.fromEntries(tables.map((table) => [table.name, table.formats.version]));
}

/** The format to write: this version's, or the newest that every live node reads if that is older and known here. */
export function writtenFormat(table: AnyTable, members: readonly Member[]): number {
  let format = table.formats.version;
  for (const member of members) format = Math.min(format, member.formats[table.name] ?? format);
  if (format === table.formats.version || table.formats.write?.[format] !== undefined) return format;
  return table.formats.version;
}
