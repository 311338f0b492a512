/**
 * Estimates the heap memory of rows, so that the state can be bounded in bytes [STATE-113]. The estimate depends on the
 * row alone, so a row that leaves subtracts exactly what it added.
 *
 * The constants are measured with V8 on 64-bit machines, on rows as `JSON.parse` creates them. The estimate may be too
 * high, by half for rows whose texts repeat, and must not be too low.
 */
import type { AnyTable, Stored } from '../table.ts';

/** A `Stored` object with its two indexes. */
const STORED_BYTES = 48;
/** The place of an entry in a B-tree: key, value, and its share of nodes that random insertions left two thirds full. */
const TREE_ENTRY_BYTES = 40;
const STRING_BYTES = 24;
const OBJECT_BYTES = 24;
/** `JSON.parse` reserves four places in an object without properties. */
const EMPTY_OBJECT_BYTES = 56;
const ARRAY_BYTES = 48;
/** A reference or a small integer in an object or an array. */
const SLOT_BYTES = 8;
/** A number that is no small integer, in an object. */
const NUMBER_BYTES = 16;
/** A property whose name a caller chose: its own name, and its place in the hash table of its object. */
const NAMED_PROPERTY_BYTES = 140;
/** The shape of an object with such a property. */
const SHAPE_BYTES = 136;

/** Returns the estimated bytes of a row in the heap, with its key and its entries in the indexes of its table. */
export function rowBytes(table: AnyTable, key: string, { row }: Stored<unknown>): number {
  let bytes = STORED_BYTES + recordBytes(row as object) + TREE_ENTRY_BYTES;
  if (!hasField(row as object, key)) bytes += stringBytes(key);
  for (const index of table.indexList) {
    const entry = index.entry(row);
    if (entry === undefined) continue;
    bytes += TREE_ENTRY_BYTES;
    if (!index.unique) bytes += stringBytes(entry) + 1 + key.length;
    else if (!hasField(row as object, entry)) bytes += stringBytes(entry);
  }
  return bytes;
}

/** Returns the bytes of a row or of an element of a list. Such objects share their property names. */
function recordBytes(record: object): number {
  let bytes = 0;
  for (const name in record) bytes += SLOT_BYTES + valueBytes((record as Readonly<Record<string, unknown>>)[name]);
  return bytes === 0 ? EMPTY_OBJECT_BYTES : OBJECT_BYTES + bytes;
}

/** Returns the bytes of an object whose property names a caller may have chosen, such as `Meta` of a service. */
function mapBytes(map: object): number {
  let bytes = 0;
  for (const name in map) {
    bytes += NAMED_PROPERTY_BYTES + name.length + valueBytes((map as Readonly<Record<string, unknown>>)[name]);
  }
  return EMPTY_OBJECT_BYTES + (bytes === 0 ? 0 : SHAPE_BYTES + bytes);
}

function listBytes(values: readonly unknown[]): number {
  let bytes = ARRAY_BYTES + SLOT_BYTES * values.length;
  for (const value of values) bytes += isRecord(value) ? recordBytes(value) : valueBytes(value);
  return bytes;
}

/** Returns the bytes of a value besides the slot that refers to it. */
function valueBytes(value: unknown): number {
  if (typeof value === 'string') return stringBytes(value);
  if (typeof value === 'number') return (value | 0) === value ? 0 : NUMBER_BYTES;
  if (Array.isArray(value)) return listBytes(value);
  return isRecord(value) ? mapBytes(value) : 0;
}

/** V8 takes two bytes for each character of a text with a character above U+00FF. */
const stringBytes = (text: string): number => STRING_BYTES + (/[\u0100-\uffff]/.test(text) ? 2 : 1) * text.length;

const isRecord = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether a field of the row is this text. Keys and entries share the string with such a field. */
function hasField(row: object, text: string): boolean {
  for (const name in row) if ((row as Readonly<Record<string, unknown>>)[name] === text) return true;
  return false;
}
