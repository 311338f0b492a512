/** The output of the demo: colors on a terminal, and truncated command output. */
import type { WriteStream } from 'node:tty';
import { stripVTControlCharacters, styleText } from 'node:util';
import { OUTPUT_COLUMNS_MAX, OUTPUT_LINES_MAX } from './limits.ts';
import type { Chapter, Step } from './step.ts';

export interface Screen {
  /** Prints lines without style. */
  print(...lines: readonly string[]): void;
  heading(chapter: Chapter): void;
  /** Prints the title and the command of a step. */
  step(step: Step): void;
  output(text: string): void;
  success(text: string): void;
  failure(...lines: readonly string[]): void;
}

/** Creates a screen that numbers the steps. It prints no colors without a terminal or with NO_COLOR. */
export function createScreen(stream: WriteStream): Screen {
  let count = 0;
  const say = (...lines: readonly string[]): void => {
    for (const line of lines) stream.write(`${line}\n`);
  };
  const styled = (style: Parameters<typeof styleText>[0], lines: readonly string[]): readonly string[] =>
    lines.map((line) => styleText(style, line, { stream }));
  return {
    print: say,
    heading: ({ title }) => say('', ...styled(['bold', 'underline'], [title])),
    step(step) {
      count += 1;
      say('', `${String(count).padStart(3)}  ${step.title}`);
      say(...styled('cyan', commandLines(step)));
    },
    output: (text) => say(...styled('dim', truncatedLines(text).map(indent))),
    success: (text) => say('', ...styled(['bold', 'green'], [text])),
    failure: (...lines) => say('', ...styled(['bold', 'red'], lines)),
  };
}

/** Returns the command as a user types it, with a background program as a shell job. */
function commandLines({ command, background }: Step): readonly string[] {
  const whole = background === undefined ? command : `${command} > ${background}.log 2>&1 &`;
  return whole.split('\n').map((line, i) => indent(`${i === 0 ? '$' : ' '} ${line}`));
}

/** Returns the first lines of an output, without terminal control sequences. */
function truncatedLines(text: string): readonly string[] {
  const plain = stripVTControlCharacters(text).trimEnd();
  if (plain === '') return [];
  const lines = plain.split('\n');
  const shown = lines.slice(0, OUTPUT_LINES_MAX).map(truncate);
  const left = lines.length - shown.length;
  return left === 0 ? shown : [...shown, `… ${left} more ${left === 1 ? 'line' : 'lines'}`];
}

const truncate = (line: string): string =>
  line.length <= OUTPUT_COLUMNS_MAX ? line : `${line.slice(0, OUTPUT_COLUMNS_MAX - 1)}…`;

/** Indents a line below the title of the step. */
const indent = (line: string): string => `     ${line}`.trimEnd();
