/** Confirmation prompts on a terminal. */
import { createInterface } from 'node:readline';
import { CommandError } from '../errors.ts';
import type { Shell } from '../shell.ts';

/** Requires a terminal as standard input. @param alternative advice for the message @throws CommandError `usage` */
export function requireTerminal(shell: Shell, alternative: string): void {
  if (shell.stdin.isTTY === true) return;
  throw new CommandError(
    'usage',
    `cannot ask for confirmation because standard input is not a terminal: ${alternative}`,
  );
}

/** Asks for confirmation. Every answer except yes means no. @throws the reason of the interruption */
export async function confirm(shell: Shell, question: string): Promise<boolean> {
  const signal = shell.interruptSignal();
  shell.stderr.write(`${question} [y/N] `);
  const lines = createInterface({ input: shell.stdin, signal });
  try {
    for await (const line of lines) return /^\s*y(es)?\s*$/i.test(line);
  } finally {
    lines.close();
  }
  signal.throwIfAborted();
  // The input ended without a newline.
  shell.stderr.write('\n');
  return false;
}
