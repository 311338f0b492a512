/** Reads whole files and standard input, up to a size limit. */
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { CommandError } from '../errors.ts';
import { BODY_BYTES_MAX } from '../limits.ts';
import type { Shell } from '../shell.ts';

/** A description of the input for error messages, and its size limit. */
interface InputSource {
  /** The content, such as `the peering token`. */
  readonly what: string;
  /** The place, such as `standard input`. */
  readonly from: string;
  readonly bytesMax: number;
}

/** Reads a stream. @throws CommandError `usage` if it fails or is too long; the reason of the interruption */
async function readStream(
  input: Readable,
  { what, from, bytesMax }: InputSource,
  signal: AbortSignal,
): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  const destroy = (): void => void input.destroy(signal.reason);
  signal.addEventListener('abort', destroy, { once: true });
  try {
    for await (const chunk of input) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > bytesMax) throw new Error(`it has more than ${bytesMax} bytes`);
    }
  } catch (cause) {
    signal.throwIfAborted();
    throw new CommandError('usage', `cannot read ${what} from ${from}: ${(cause as Error).message}`, { cause });
  } finally {
    signal.removeEventListener('abort', destroy);
  }
  return Buffer.concat(chunks).toString();
}

/** Reads a file, or standard input if the name is `-`. @throws in the same cases as `readStream` */
export async function readFileOrStdin(
  shell: Shell,
  file: string,
  { what, bytesMax }: Pick<InputSource, 'what' | 'bytesMax'>,
): Promise<{ readonly text: string; readonly from: string }> {
  const isStdin = file === '-';
  const from = isStdin ? 'standard input' : `the file ${file}`;
  const input = isStdin ? shell.stdin : createReadStream(file);
  return { text: await readStream(input, { what, from, bytesMax }, shell.interruptSignal()), from };
}

/**
 * Reads JSON from a file, or from standard input if the name is `-`.
 * @param what the content, such as `the registration`
 * @throws CommandError `usage`; the reason of the interruption
 */
export async function readJson(shell: Shell, file: string, what: string): Promise<unknown> {
  const { text, from } = await readFileOrStdin(shell, file, { what, bytesMax: BODY_BYTES_MAX });
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new CommandError('usage', `${from} does not contain valid JSON: ${(cause as Error).message}`, { cause });
  }
}
