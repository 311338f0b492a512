/**
 * How much a resource will be when it is decoded. Two bytes on the wire can be a message within a message, which is an
 * object of a hundred and more: so eight megabytes could take a gigabyte and stop the server for seconds. The parts are
 * therefore counted first, over the bytes, without making any of them.
 */
import type { DescField, DescMessage } from '@bufbuild/protobuf';
import { BinaryReader, WireType } from '@bufbuild/protobuf/wire';

/** Whether decoding `bytes` would make more than `max` messages and map entries. @throws Error for what is no message */
export function exceedsParts(schema: DescMessage, bytes: Uint8Array, max: number): boolean {
  return countParts(schema, bytes, max) > max;
}

/** The number of parts; some number above `max` as soon as they are more. */
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
      else if (part.value !== undefined) count += countValue(part.value, content, max - count);
    }
  }
  return count;
}

/** Of an entry of a map whose values are messages: the value is its second field. */
function countValue(value: DescMessage, entry: Uint8Array, max: number): number {
  const reader = new BinaryReader(entry);
  let count = 0;
  while (reader.pos < reader.len && count <= max) {
    const [field, type] = reader.tag();
    if (field !== MAP_VALUE || type !== WireType.LengthDelimited) reader.skip(type, field);
    else count += 1 + countParts(value, reader.bytes(), max - count);
  }
  return count;
}

const MAP_VALUE = 2;

/** A field that is a part: a message, or a map and perhaps the message that its values are. */
interface Part {
  readonly message?: DescMessage;
  readonly value?: DescMessage;
}

const known = new WeakMap<DescMessage, ReadonlyMap<number, Part>>();

function partsOf(schema: DescMessage): ReadonlyMap<number, Part> {
  let parts = known.get(schema);
  if (parts === undefined) {
    parts = new Map(
      schema.fields.flatMap((field) => {
        const part = partOf(field);
        return part === undefined ? [] : [[field.number, part] as const];
      }),
    );
    known.set(schema, parts);
  }
  return parts;
}

function partOf(field: DescField): Part | undefined {
  if (field.fieldKind === 'map') return field.mapKind === 'message' ? { value: field.message } : {};
  const message = field.fieldKind === 'message' || field.fieldKind === 'list' ? field.message : undefined;
  return message === undefined ? undefined : { message };
}
