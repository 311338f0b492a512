/** The output formats: tables and property lists for people, JSON for programs. */
import type { Shell } from '../shell.ts';

/**
 * Control characters (C0, DEL, and C1), line separators, lone surrogates, format characters, which change the direction
 * of text or have no width, and the fillers of Hangul and Braille, which are blank.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u115f\u1160\u2800\u3164\uffa0]/gu;

/** Escapes characters with which text from a server could control the terminal or disguise itself as other text. */
export function printable(text: string): string {
  return text.replaceAll(UNPRINTABLE, (character) => {
    const code = character.codePointAt(0) ?? 0;
    if (character === '\n') return '\\n';
    if (code > 0xffff) return `\\u{${code.toString(16)}}`;
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : unicodeEscape(code);
  });
}

const unicodeEscape = (unit: number): string => `\\u${unit.toString(16).padStart(4, '0')}`;

/** Formats JSON in which the characters that `printable` escapes are escaped too, so that it parses to the same value. */
function printableJson(value: unknown, indent: number): string {
  const text = JSON.stringify(value, null, indent);
  // Line feeds are layout here, because JSON escapes those of strings.
  return text.replaceAll(UNPRINTABLE, (character) =>
    character === '\n'
      ? character
      : Array.from({ length: character.length }, (_, i) => unicodeEscape(character.charCodeAt(i))).join(''),
  );
}

/** Formats aligned columns, two spaces apart, without trailing spaces. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [header, ...rows.map((row) => row.map(printable))];
  const widths = header.map((_, column) => Math.max(...lines.map((line) => widthOf(line[column] ?? ''))));
  return lines
    .map((line) => line.map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - widthOf(cell))))
    .map((cells) => `${cells.join('  ').trimEnd()}\n`)
    .join('');
}

/** Formats one line per property, with aligned values. Properties without a value are omitted. */
export function details(properties: readonly (readonly [name: string, value: string | undefined])[]): string {
  const present = properties.filter((property): property is [string, string] => property[1] !== undefined);
  const width = Math.max(0, ...present.map(([name]) => widthOf(name)));
  return present
    .map(([name, value]) => `${name.padEnd(width)}  ${printable(value)}`.trimEnd())
    .join('\n')
    .concat('\n');
}

/** Returns the number of code points. Wide East Asian characters count as one, so their columns are misaligned. */
const widthOf = (text: string): number => Array.from(text).length;

/** Prints a result as JSON if `--json` is set (on one line with `--watch`), otherwise in the given format. */
export function print<T>(
  shell: Shell,
  options: { readonly json?: boolean; readonly watch?: boolean },
  result: T,
  format: (result: T) => string,
): void {
  if (options.json === true) shell.stdout.write(`${printableJson(result, options.watch === true ? 0 : 2)}\n`);
  else shell.stdout.write(format(result));
}
