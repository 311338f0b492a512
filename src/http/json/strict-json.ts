/**
 * Parses JSON from untrusted clients. Rejects input that two parsers could read differently, such as duplicate keys.
 */
import { BODY_DEPTH_MAX } from '../limits.ts';

/** Invalid input. The message is for the client and quotes no part of a body that may be secret. */
export class JsonError extends Error {
  override readonly name = 'JsonError';
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Parses bytes as JSON. @throws JsonError for invalid UTF-8 or JSON, a duplicate key, or excessive depth */
export function parseStrictJson(bytes: Uint8Array): unknown {
  const text = decode(bytes);
  const value = parse(text);
  checkStructure(text);
  return value;
}

function decode(bytes: Uint8Array): string {
  try {
    return utf8.decode(bytes);
  } catch (cause) {
    throw new JsonError('the body is not valid UTF-8', { cause });
  }
}

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

/** Checks depth and duplicate keys. Needs to find only strings and brackets, because `text` is valid JSON. */
function checkStructure(text: string): void {
  /** The keys so far of each open object; `undefined` for an array. */
  const open: (Set<string> | undefined)[] = [];
  for (let i = 0; i < text.length; i++) {
    const character = text[i];
    if (character === '"') {
      const end = endOfString(text, i);
      const keys = open.at(-1);
      if (keys !== undefined && isKey(text, end)) addKey(keys, text.slice(i, end));
      i = end - 1;
    } else if (character === '{' || character === '[') {
      open.push(character === '{' ? new Set() : undefined);
      if (open.length > BODY_DEPTH_MAX) throw new JsonError(`json: nested more than ${BODY_DEPTH_MAX} levels deep`);
    } else if (character === '}' || character === ']') {
      open.pop();
    }
  }
}

/** Returns the position after the closing quote of the string that begins at `start`. */
function endOfString(text: string, start: number): number {
  let i = start + 1;
  while (text[i] !== '"') i += text[i] === '\\' ? 2 : 1;
  return i + 1;
}

function isKey(text: string, end: number): boolean {
  let i = end;
  while (text[i] === ' ' || text[i] === '\n' || text[i] === '\r' || text[i] === '\t') i += 1;
  return text[i] === ':';
}

function addKey(keys: Set<string>, quoted: string): void {
  const key = quoted.includes('\\') ? (JSON.parse(quoted) as string) : quoted.slice(1, -1);
  if (keys.has(key)) throw new JsonError(`json: duplicate field ${JSON.stringify(key)}`);
  keys.add(key);
}
