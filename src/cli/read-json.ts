/** Bodies as commands take them: JSON in a file, or piped in. */
import { createReadStream } from 'node:fs';
import { CommandError } from './errors.ts';
import { BODY_BYTES_MAX } from './limits.ts';
import { readAll } from './read-all.ts';
import type { Shell } from './shell.ts';

/**
 * The JSON in the file; `-` is standard input.
 * @param what such as `the registration`
 * @throws CommandError `usage`; the reason of the interruption
 */
export async function readJson(shell: Shell, file: string, what: string): Promise<unknown> {
  const isPiped = file === '-';
  const from = isPiped ? 'standard input' : `the file ${file}`;
  const input = isPiped ? shell.stdin : createReadStream(file);
  const text = await readAll(input, { what, from, bytesMax: BODY_BYTES_MAX }, shell.interrupted());
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new CommandError('usage', `${from} holds no JSON: ${(cause as Error).message}`, { cause });
  }
}
