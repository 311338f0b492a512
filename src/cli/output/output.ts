/** How results are written: tables for people, JSON for programs. */
import type { Shell } from '../shell.ts';

/** What commands a terminal, breaks a line, or has text shown in another order than it is in. */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu;

/** Text from a server without what could make it look like other text: such characters are shown escaped. */
export function printable(text: string): string {
  return text.replaceAll(UNPRINTABLE, (character) => {
    const code = character.charCodeAt(0);
    if (character === '\n') return '\\n';
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u${code.toString(16).padStart(4, '0')}`;
  });
}

/** Aligned columns, two spaces apart, no spaces at the ends of lines. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [header, ...rows.map((row) => row.map(printable))];
  const widths = header.map((_, column) => Math.max(...lines.map((line) => widthOf(line[column] ?? ''))));
  return lines
    .map((line) => line.map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - widthOf(cell))))
    .map((cells) => `${cells.join('  ').trimEnd()}\n`)
    .join('');
}

/** One line a property, values aligned; a property without a value is left out. */
export function details(properties: readonly (readonly [name: string, value: string | undefined])[]): string {
  const present = properties.filter((property): property is [string, string] => property[1] !== undefined);
  const width = Math.max(0, ...present.map(([name]) => widthOf(name)));
  return present
    .map(([name, value]) => `${name.padEnd(width)}  ${printable(value)}`.trimEnd())
    .join('\n')
    .concat('\n');
}

/** Characters as a reader counts them; wide ones of East Asia count once, which misaligns and breaks nothing. */
const widthOf = (text: string): number => Array.from(text).length;

/** Prints a result: as JSON (indented; on one line while watching, so that a line is a result), else as `people` has it. */
export function print<T>(
  shell: Shell,
  options: { readonly json?: boolean; readonly watch?: boolean },
  result: T,
  people: (result: T) => string,
): void {
  if (options.json === true) shell.stdout.write(`${JSON.stringify(result, null, options.watch === true ? 0 : 2)}\n`);
  else shell.stdout.write(people(result));
}
