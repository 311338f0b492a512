/** Bodies as commands take them: JSON in a file, or piped in. */
import { CommandError } from '../errors.ts';
import { BODY_BYTES_MAX } from '../limits.ts';
import type { Shell } from '../shell.ts';
import { readNamed } from './read-all.ts';

/**
 * The JSON in the file; `-` is standard input.
 * @param what such as `the registration`
 * @throws CommandError `usage`; the reason of the interruption
 */
export async function readJson(shell: Shell, file: string, what: string): Promise<unknown> {
  const { text, from } = await readNamed(shell, file, { what, bytesMax: BODY_BYTES_MAX });
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new CommandError('usage', `${from} holds no JSON: ${(cause as Error).message}`, { cause });
  }
}
