/**
 * Parses large JSON bodies as `strict-json.ts` does, and writes large answers, in slices, so that the event loop runs in
 * between. The parser divides a long array or object at its commas, parses groups of its parts with `JSON.parse`, and
 * joins the results.
 */
import { isUtf8 } from 'node:buffer';
import type { Steps } from '../../state/clock/slices.ts';
import {
  BODY_DEPTH_MAX,
  BODY_FIELDS_MAX,
  BULK_STRING_BYTES_MAX,
  BULK_VALUES_MAX,
  JSON_PIECE_BYTES,
} from '../limits.ts';
import {
  CharacterCode,
  duplicateField,
  invalidUtf8,
  JsonError,
  parseStrictText,
  tooDeep,
  tooManyFields,
  type ValueBudget,
} from './strict-json.ts';

const { QUOTE, BACKSLASH, COMMA, COLON, OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET, SPACE } = CharacterCode;

/** Levels of a value that are divided. */
const DIVIDED_LEVELS = 5;

/** Returns the bytes of what `JSON.stringify` returns. Pauses after each element of arrays up to DIVIDED_LEVELS deep. */
export function* stringifyInSlices(value: unknown): Steps<Buffer> {
  const chunks: Buffer[] = [];
  let texts: string[] = [];
  let characters = 0;
  const finishChunk = (): void => {
    chunks.push(Buffer.from(texts.join('')));
    texts = [];
    characters = 0;
  };
  yield* writeValue(value, DIVIDED_LEVELS, (text) => {
    texts.push(text);
    characters += text.length;
    if (characters >= JSON_PIECE_BYTES) finishChunk();
  });
  finishChunk();
  yield;
  return Buffer.concat(chunks);
}

function* writeValue(value: unknown, levels: number, write: (text: string) => void): Steps<void> {
  if (levels === 0 || typeof value !== 'object' || value === null) {
    write(JSON.stringify(value) ?? 'null');
  } else if (Array.isArray(value)) {
    let separator = '[';
    for (const element of value) {
      write(`${separator}${JSON.stringify(element) ?? 'null'}`);
      separator = ',';
      yield;
    }
    write(separator === '[' ? '[]' : ']');
  } else {
    let separator = '{';
    for (const [name, field] of Object.entries(value)) {
      if (field === undefined) continue;
      write(`${separator}${JSON.stringify(name)}:`);
      separator = ',';
      yield* writeValue(field, levels - 1, write);
    }
    write(separator === '{' ? '{}' : '}');
  }
}

interface SlicedBudget extends ValueBudget {
  /** The bytes that are parsed at once. */
  readonly pieceBytes: number;
}

/**
 * Parses a body, and pauses at least every `pieceBytes`.
 * @throws JsonError as `parseStrictJson`, but for more than BULK_VALUES_MAX values or BULK_STRING_BYTES_MAX bytes of text
 */
export function* parseJsonInSlices(bytes: Buffer, pieceBytes = JSON_PIECE_BYTES): Steps<unknown> {
  if (!isUtf8(bytes)) throw invalidUtf8();
  return yield* parseValue(bytes, { pieceBytes, valuesMax: BULK_VALUES_MAX, values: 0, depthMax: BODY_DEPTH_MAX });
}

function* parseValue(padded: Buffer, budget: SlicedBudget): Steps<unknown> {
  yield;
  const bytes = withoutSpaces(padded);
  const open = bytes[0];
  if (bytes.length <= budget.pieceBytes) return parseStrictText(textOf(bytes), budget);
  if (open !== OPEN_BRACE && open !== OPEN_BRACKET) return parseStrictText(longText(bytes), budget);
  if (budget.depthMax === 0) throw tooDeep();
  return yield* parseContainer(bytes, budget);
}

/** Returns the text of a value that cannot be divided. @throws JsonError if it is too long to be parsed at once */
function longText(bytes: Buffer): string {
  if (bytes.length > BULK_STRING_BYTES_MAX)
    throw new JsonError(`json: a text of more than ${BULK_STRING_BYTES_MAX} bytes`);
  return textOf(bytes);
}

/** Parses an array or object that is longer than a piece. */
function* parseContainer(bytes: Buffer, budget: SlicedBudget): Steps<unknown> {
  const isArray = bytes[0] === OPEN_BRACKET;
  const container = isArray ? createArray(bytes) : createObject(bytes);
  let groupStart = 1;
  let partStart = 1;
  for (;;) {
    const end = yield* endOfPart(bytes, partStart);
    const isLast = bytes[end] !== COMMA;
    if (end - partStart > budget.pieceBytes) {
      if (groupStart < partStart) container.addParts(groupStart, partStart - 1, budget);
      const inner = { ...budget, depthMax: budget.depthMax - 1 };
      yield* container.addLargePart(partStart, end, inner);
      budget.values = inner.values;
      groupStart = end + 1;
    } else if (isLast || end - groupStart > budget.pieceBytes) {
      container.addParts(groupStart, end, budget);
      groupStart = end + 1;
      yield;
    }
    partStart = end + 1;
    if (!isLast) continue;
    if (bytes[end] !== (isArray ? CLOSE_BRACKET : CLOSE_BRACE)) throw invalid();
    if (end + 1 < bytes.length) throw invalid();
    return container.value;
  }
}

/** Returns the position of the comma after the part that begins at `start`, or of the end of the container. */
function* endOfPart(bytes: Buffer, start: number): Steps<number> {
  let nested = 0;
  let pauseAt = start + JSON_PIECE_BYTES;
  for (let i = start; i < bytes.length; i++) {
    if (i >= pauseAt) {
      pauseAt = i + JSON_PIECE_BYTES;
      yield;
    }
    const byte = bytes[i];
    if (byte === QUOTE) i = endOfString(bytes, i) - 1;
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) nested += 1;
    else if (nested === 0 && (byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET)) return i;
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) nested -= 1;
  }
  throw invalid();
}

/** An array or object under construction. Its parts are given by their positions. */
interface Container {
  readonly value: unknown;
  /** Adds several parts. @throws JsonError also if there is none, because a long container is not empty */
  addParts(start: number, end: number, budget: SlicedBudget): void;
  /** Adds one part in slices. @throws JsonError */
  addLargePart(start: number, end: number, budget: SlicedBudget): Steps<void>;
}

function createArray(bytes: Buffer): Container {
  const value: unknown[] = [];
  return {
    value,
    addParts(start, end, budget) {
      const parts = parseStrictText(`[${textOf(bytes, start, end)}]`, budget) as unknown[];
      if (parts.length === 0) throw invalid();
      for (const part of parts) value.push(part);
    },
    *addLargePart(start, end, budget) {
      value.push(yield* parseValue(bytes.subarray(start, end), budget));
    },
  };
}

function createObject(bytes: Buffer): Container {
  const value: Record<string, unknown> = {};
  let fields = 0;
  const add = (key: string, field: unknown): void => {
    if (Object.hasOwn(value, key)) throw duplicateField(key);
    fields += 1;
    if (fields > BODY_FIELDS_MAX) throw tooManyFields();
    // An assignment to `__proto__` would set the prototype.
    Object.defineProperty(value, key, { value: field, writable: true, enumerable: true, configurable: true });
  };
  return {
    value,
    addParts(start, end, budget) {
      const parts = Object.entries(parseStrictText(`{${textOf(bytes, start, end)}}`, budget) as object);
      if (parts.length === 0) throw invalid();
      for (const [key, field] of parts) add(key, field);
    },
    *addLargePart(start, end, budget) {
      const keyStart = skipSpaces(bytes, start);
      if (bytes[keyStart] !== QUOTE) throw invalid();
      const keyEnd = endOfString(bytes, keyStart);
      const colon = skipSpaces(bytes, keyEnd);
      if (bytes[colon] !== COLON) throw invalid();
      const key = parseStrictText(textOf(bytes, keyStart, keyEnd), budget) as string;
      add(key, yield* parseValue(bytes.subarray(colon + 1, end), budget));
    },
  };
}

/** Returns the position after the closing quote of the string that begins at `start`. */
function endOfString(bytes: Buffer, start: number): number {
  for (let i = start + 1; i < bytes.length; i++) {
    if (bytes[i] === QUOTE) return i + 1;
    if (bytes[i] === BACKSLASH) i += 1;
  }
  throw invalid();
}

function withoutSpaces(bytes: Buffer): Buffer {
  let end = bytes.length;
  const endMin = Math.max(0, end - JSON_PIECE_BYTES);
  while (end > endMin && isSpace(bytes[end - 1] as number)) end -= 1;
  return bytes.subarray(skipSpaces(bytes, 0), end);
}

function skipSpaces(bytes: Buffer, start: number): number {
  // More spaces than a piece are not skipped, and the value is rejected.
  const end = Math.min(bytes.length, start + JSON_PIECE_BYTES);
  let i = start;
  while (i < end && isSpace(bytes[i] as number)) i += 1;
  return i;
}

const isSpace = (byte: number): boolean =>
  byte <= SPACE && (byte === SPACE || byte === 0x0a || byte === 0x0d || byte === 0x09);

const textOf = (bytes: Buffer, start = 0, end = bytes.length): string => bytes.toString('utf8', start, end);

const invalid = (): JsonError => new JsonError('json: the body is not valid JSON');
