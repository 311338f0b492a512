/** What the demo shows: colours on a terminal that wants them, and long answers cut to what is worth reading. */
import type { WriteStream } from 'node:tty';
import { stripVTControlCharacters, styleText } from 'node:util';
import { ANSWER_COLUMNS_MAX, ANSWER_LINES_MAX } from './limits.ts';
import type { Chapter, Step } from './step.ts';

export interface Screen {
  /** Plain lines. */
  say(...lines: readonly string[]): void;
  heading(chapter: Chapter): void;
  /** The sentence of a step, and its command as one would type it. */
  question(step: Step): void;
  answer(text: string): void;
  success(text: string): void;
  failure(...lines: readonly string[]): void;
}

/** A screen that steps are counted on. Without colours where the stream is no terminal, and with NO_COLOR. */
export function createScreen(stream: WriteStream): Screen {
  let count = 0;
  const say = (...lines: readonly string[]): void => {
    for (const line of lines) stream.write(`${line}\n`);
  };
  const styled = (style: Parameters<typeof styleText>[0], lines: readonly string[]): readonly string[] =>
    lines.map((line) => styleText(style, line, { stream }));
  return {
    say,
    heading: ({ title }) => say('', ...styled(['bold', 'underline'], [title])),
    question(step) {
      count += 1;
      say('', `${String(count).padStart(3)}  ${step.why}`);
      say(...styled('cyan', typed(step)));
    },
    answer: (text) => say(...styled('dim', trimmed(text).map(indented))),
    success: (text) => say('', ...styled(['bold', 'green'], [text])),
    failure: (...lines) => say('', ...styled(['bold', 'red'], lines)),
  };
}

/** A command as it is typed: a program that runs on goes to the background. */
function typed({ command, background }: Step): readonly string[] {
  const whole = background === undefined ? command : `${command} > ${background}.log 2>&1 &`;
  return whole.split('\n').map((line, i) => indented(`${i === 0 ? '$' : ' '} ${line}`));
}

/** The beginning of an answer, without what would command a terminal. */
function trimmed(text: string): readonly string[] {
  const plain = stripVTControlCharacters(text).trimEnd();
  if (plain === '') return [];
  const lines = plain.split('\n');
  const shown = lines.slice(0, ANSWER_LINES_MAX).map(cut);
  const left = lines.length - shown.length;
  return left === 0 ? shown : [...shown, `… ${left} more ${left === 1 ? 'line' : 'lines'}`];
}

const cut = (line: string): string =>
  line.length <= ANSWER_COLUMNS_MAX ? line : `${line.slice(0, ANSWER_COLUMNS_MAX - 1)}…`;

/** Below the sentence of the step. */
const indented = (line: string): string => `     ${line}`.trimEnd();
