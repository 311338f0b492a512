/** Asking somebody who sits at a terminal. */
import { createInterface } from 'node:readline';
import { CommandError } from '../../errors.ts';
import type { Shell } from '../../shell.ts';

/** Refuses where nobody can be asked. @throws CommandError `usage` */
export function requireTerminal(shell: Shell, instead: string): void {
  if (shell.stdin.isTTY === true) return;
  throw new CommandError('usage', `nobody can be asked, since standard input is no terminal: ${instead}`);
}

/** Whether the answer is yes; anything else, and the end of the input, is no. @throws the reason of the interruption */
export async function confirm(shell: Shell, question: string): Promise<boolean> {
  const signal = shell.interrupted();
  shell.stderr.write(`${question} [y/N] `);
  const lines = createInterface({ input: shell.stdin, signal });
  try {
    for await (const line of lines) return /^\s*y(es)?\s*$/i.test(line);
  } finally {
    lines.close();
  }
  signal.throwIfAborted();
  // Nobody has ended the line.
  shell.stderr.write('\n');
  return false;
}
