/**
 * Estimates the decoded size of a resource. Two bytes on the wire can be a nested message, which is an object of a
 * hundred bytes and more, so 8 MiB could use a gigabyte and block the server for seconds. The messages and map entries
 * ("parts") are therefore counted in the bytes before decoding.
 */
import type { DescField, DescMessage } from '@bufbuild/protobuf';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';
import { derivedFrom } from '../../../state/memory/derived-cache.ts';

/** Whether decoding `bytes` creates more than `max` messages and map entries. @throws Error for a malformed message */
export function exceedsParts(schema: DescMessage, bytes: Uint8Array, max: number): boolean {
  return countParts(schema, bytes, max) > max;
}

/** Counts the parts. Stops early with some number above `max` when there are more. */
function countParts(schema: DescMessage, bytes: Uint8Array, max: number): number {
  const parts = partsOf(schema);
  const reader = new BinaryReader(bytes);
  let count = 0;
  while (reader.pos < reader.len && count <= max) {
    const [field, type] = reader.tag();
    const part = parts.get(field);
    if (part === undefined || type !== WireType.LengthDelimited) reader.skip(type, field);
    else {
      const content = reader.bytes();
      count += 1;
      if (part.message !== undefined) count += countParts(part.message, content, max - count);
      else if (part.value !== undefined) count += countMapValue(part.value, content, max - count);
    }
  }
  return count;
}

/** Counts the parts in the value of a map entry, for a map whose values are messages. */
function countMapValue(value: DescMessage, entry: Uint8Array, max: number): number {
  const reader = new BinaryReader(entry);
  let count = 0;
  while (reader.pos < reader.len && count <= max) {
    const [field, type] = reader.tag();
    if (field !== MAP_VALUE_FIELD || type !== WireType.LengthDelimited) reader.skip(type, field);
    else count += 1 + countParts(value, reader.bytes(), max - count);
  }
  return count;
}

/** The field number of the value in a map entry. */
const MAP_VALUE_FIELD = 2;

/** A field whose values are parts: messages (`message`), or map entries (`value` if they hold messages). */
interface PartField {
  readonly message?: DescMessage;
  readonly value?: DescMessage;
}

/** Returns the fields of a message whose values are parts, by field number. */
const partsOf = derivedFrom(
  (schema: DescMessage): ReadonlyMap<number, PartField> =>
    new Map(
      schema.fields.flatMap((field) => {
        const part = partField(field);
        return part === undefined ? [] : [[field.number, part] as const];
      }),
    ),
);

function partField(field: DescField): PartField | undefined {
  if (field.fieldKind === 'map') return field.mapKind === 'message' ? { value: field.message } : {};
  const message = field.fieldKind === 'message' || field.fieldKind === 'list' ? field.message : undefined;
  return message === undefined ? undefined : { message };
}
