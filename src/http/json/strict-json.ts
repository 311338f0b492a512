/**
 * Parses JSON from untrusted clients. Rejects input that two parsers could read differently, such as duplicate keys.
 */
import { BODY_DEPTH_MAX, BODY_FIELDS_MAX, BODY_VALUES_MAX, QUOTED_LENGTH_MAX } from '../limits.ts';

/** Invalid input. The message is for the client and quotes no part of a body that may be secret. */
export class JsonError extends Error {
  override readonly name = 'JsonError';
  /** Whether a string contains half of a surrogate pair. UTF-8 cannot represent it, so storing it would change it. */
  readonly hasLoneSurrogate: boolean = false;

  constructor(message: string, options: ErrorOptions & { readonly hasLoneSurrogate?: boolean } = {}) {
    super(message, options);
    this.hasLoneSurrogate = options.hasLoneSurrogate ?? false;
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * Parses bytes as JSON. 1 MiB takes up to 40 ms; see `sliced-json.ts` for larger bodies.
 * @throws JsonError for invalid UTF-8 or JSON, a duplicate key, excessive depth, or too many
 * values or fields of an object
 */
export const parseStrictJson = (bytes: Uint8Array): unknown =>
  parseStrictText(decode(bytes), { depthMax: BODY_DEPTH_MAX, valuesMax: BODY_VALUES_MAX, values: 0 });

/** The bounds of a value, and the number of values so far: objects, arrays, and values that follow another one. */
export interface ValueBudget {
  readonly depthMax: number;
  readonly valuesMax: number;
  values: number;
}

/** Parses text as JSON within a budget. @throws JsonError, as `parseStrictJson` */
export function parseStrictText(text: string, budget: ValueBudget): unknown {
  const value = parse(text);
  checkStructure(text, budget);
  if (hasLoneSurrogate(text)) {
    throw new JsonError('json: a string contains half of a surrogate pair', { hasLoneSurrogate: true });
  }
  return value;
}

const ESCAPED_SURROGATE = /\\u[dD][89a-fA-F]/;
const ESCAPE = /\\(?:u([\da-fA-F]{4})|.)/g;
const ESCAPE_LENGTH = 6;

/** Whether valid JSON contains half of a surrogate pair, which is possible only by an escape sequence. */
function hasLoneSurrogate(text: string): boolean {
  if (!ESCAPED_SURROGATE.test(text)) return false;
  /** The position after an escaped high surrogate, where the low one must follow. */
  let lowAt: number | undefined;
  for (const { index, 1: digits = '' } of text.matchAll(ESCAPE)) {
    const code = Number.parseInt(digits, 16);
    const isLow = code >= 0xdc00 && code <= 0xdfff;
    if (isLow ? index !== lowAt : lowAt !== undefined) return true;
    lowAt = code >= 0xd800 && code <= 0xdbff ? index + ESCAPE_LENGTH : undefined;
  }
  return lowAt !== undefined;
}

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw invalidUtf8(cause);
  }
}

export const invalidUtf8 = (cause?: unknown): JsonError => new JsonError('the body is not valid UTF-8', { cause });

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw new JsonError(syntaxMessage(cause), { cause });
  }
}

/** Returns V8's message without the part of the body that it quotes, which may be secret. */
function syntaxMessage(cause: unknown): string {
  const message = cause instanceof Error ? cause.message : '';
  return `json: ${message.replace(/, ".*$/s, '').replace(/, \.\.\..*$/s, '')}`;
}

/** The characters of the structure of JSON. All are ASCII, so they are also bytes. */
export const CharacterCode = {
  QUOTE: 0x22,
  BACKSLASH: 0x5c,
  COMMA: 0x2c,
  COLON: 0x3a,
  OPEN_BRACE: 0x7b,
  CLOSE_BRACE: 0x7d,
  OPEN_BRACKET: 0x5b,
  CLOSE_BRACKET: 0x5d,
  SPACE: 0x20,
} as const;

const { QUOTE, BACKSLASH, COMMA, COLON, OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET, SPACE } = CharacterCode;

/**
 * Checks depth, the fields of objects, and duplicate keys. Needs to find only strings and brackets, because `text` is
 * valid JSON.
 */
function checkStructure(text: string, budget: ValueBudget): void {
  /** The keys so far of each open object: `undefined` for an array, `null` for an object without keys. */
  const open: (Set<string> | null | undefined)[] = [];
  for (let i = 0; i < text.length; i++) {
    switch (text.charCodeAt(i)) {
      case QUOTE: {
        const end = endOfString(text, i);
        const keys = open.at(-1);
        if (keys !== undefined && isKey(text, end)) open[open.length - 1] = withKey(keys, text.slice(i + 1, end - 1));
        i = end - 1;
        break;
      }
      case OPEN_BRACE:
      case OPEN_BRACKET:
        countValue(budget);
        open.push(text.charCodeAt(i) === OPEN_BRACE ? null : undefined);
        if (open.length > budget.depthMax) throw tooDeep();
        break;
      case CLOSE_BRACE:
      case CLOSE_BRACKET:
        open.pop();
        break;
      case COMMA:
        countValue(budget);
    }
  }
}

function countValue(budget: ValueBudget): void {
  budget.values += 1;
  if (budget.values > budget.valuesMax) throw new JsonError(`json: more than ${budget.valuesMax} values`);
}

/** Returns the position after the closing quote of the string that begins at `start`. */
function endOfString(text: string, start: number): number {
  let i = start + 1;
  for (let code = text.charCodeAt(i); code !== QUOTE; code = text.charCodeAt(i)) i += code === BACKSLASH ? 2 : 1;
  return i + 1;
}

function isKey(text: string, end: number): boolean {
  let i = end;
  while (text.charCodeAt(i) <= SPACE) i += 1;
  return text.charCodeAt(i) === COLON;
}

function withKey(keys: Set<string> | null, quoted: string): Set<string> {
  const key = quoted.includes('\\') ? (JSON.parse(`"${quoted}"`) as string) : quoted;
  if (keys === null) return new Set([key]);
  if (keys.has(key)) throw duplicateField(key);
  keys.add(key);
  if (keys.size > BODY_FIELDS_MAX) throw tooManyFields();
  return keys;
}

export const tooDeep = (): JsonError => new JsonError(`json: nested more than ${BODY_DEPTH_MAX} levels deep`);

export const duplicateField = (key: string): JsonError =>
  new JsonError(`json: duplicate field ${JSON.stringify(key.slice(0, QUOTED_LENGTH_MAX))}`);

export const tooManyFields = (): JsonError => new JsonError(`json: an object has more than ${BODY_FIELDS_MAX} fields`);
