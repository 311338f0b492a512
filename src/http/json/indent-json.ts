/** Indents compact JSON text by four spaces, in slices. */
import type { Steps } from '../../state/clock/slices.ts';
import { JSON_PIECE_BYTES } from '../limits.ts';
import { CharacterCode } from './strict-json.ts';

const { QUOTE, BACKSLASH, COMMA, COLON, OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET } = CharacterCode;

/** Returns `text`, the result of `JSON.stringify`, as `JSON.stringify` indents it. */
export function* indentInSlices(text: string): Steps<string> {
  const chunks: string[] = [];
  let parts: string[] = [];
  let depth = 0;
  let from = 0;
  let pauseAt = JSON_PIECE_BYTES;
  const addUpTo = (end: number, more: string): void => {
    parts.push(text.slice(from, end), more);
    from = end;
  };
  for (let i = 0; i < text.length; i++) {
    if (i >= pauseAt) {
      pauseAt = i + JSON_PIECE_BYTES;
      chunks.push(parts.join(''));
      parts = [];
      yield;
    }
    const code = text.charCodeAt(i);
    if (code === QUOTE) i = endOfString(text, i);
    else if (code === COMMA) addUpTo(i + 1, newLine(depth));
    else if (code === COLON) addUpTo(i + 1, ' ');
    else if (code === CLOSE_BRACE || code === CLOSE_BRACKET) addUpTo(i, newLine(--depth));
    else if (code === OPEN_BRACE || code === OPEN_BRACKET) {
      const next = text.charCodeAt(i + 1);
      if (next === CLOSE_BRACE || next === CLOSE_BRACKET) i += 1;
      else addUpTo(i + 1, newLine(++depth));
    }
  }
  addUpTo(text.length, '');
  chunks.push(parts.join(''));
  return chunks.join('');
}

const newLine = (depth: number): string => `\n${'    '.repeat(depth)}`;

/** Returns the position of the closing quote of the string that begins at `start`. */
function endOfString(text: string, start: number): number {
  let i = start + 1;
  for (let code = text.charCodeAt(i); code !== QUOTE; code = text.charCodeAt(i)) i += code === BACKSLASH ? 2 : 1;
  return i;
}
