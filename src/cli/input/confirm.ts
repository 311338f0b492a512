/** Confirmation prompts on a terminal. */
import { createInterface } from 'node:readline';
import type { Command } from 'commander';
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

/** Adds the option that replaces the confirmation of a command that destroys something. */
export const withConfirmation = (command: Command): Command =>
  command.option('--yes', 'do not ask for confirmation; required if standard input is not a terminal');

export interface ConfirmationOptions {
  readonly yes?: boolean;
}

/**
 * Asks before something is destroyed, unless `--yes` is given.
 * @param question what will happen, such as `Delete team acme/dev with its access and its tokens?`
 * @throws CommandError `usage` if standard input is not a terminal; `failed` if the answer is not yes
 */
export async function requireConfirmation(shell: Shell, { yes }: ConfirmationOptions, question: string): Promise<void> {
  if (yes === true) return;
  requireTerminal(shell, 'give --yes to do it without confirmation');
  if (!(await confirm(shell, question))) throw new CommandError('failed', 'nothing was changed');
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
