/** Reading a whole file, or all that is piped in. */
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { CommandError } from '../errors.ts';
import type { Shell } from '../shell.ts';

/** What is read, in words for a message, and how long it may be. */
export interface Reading {
  /** Such as `the peering token`. */
  readonly what: string;
  /** Such as `standard input`. */
  readonly from: string;
  readonly bytesMax: number;
}

/** The text. @throws CommandError `usage` when it cannot be read or is too long; the reason of the interruption */
export async function readAll(
  input: Readable,
  { what, from, bytesMax }: Reading,
  signal: AbortSignal,
): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  const leave = (): void => void input.destroy(signal.reason);
  signal.addEventListener('abort', leave, { once: true });
  try {
    for await (const chunk of input) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > bytesMax) throw new Error(`it has more than ${bytesMax} bytes`);
    }
  } catch (cause) {
    signal.throwIfAborted();
    throw new CommandError('usage', `cannot read ${what} in ${from}: ${(cause as Error).message}`, { cause });
  } finally {
    signal.removeEventListener('abort', leave);
  }
  return Buffer.concat(chunks).toString();
}

/** The text of a file that is named; `-` is standard input. @throws as `readAll` */
export async function readNamed(
  shell: Shell,
  file: string,
  { what, bytesMax }: Pick<Reading, 'what' | 'bytesMax'>,
): Promise<{ readonly text: string; readonly from: string }> {
  const isPiped = file === '-';
  const from = isPiped ? 'standard input' : `the file ${file}`;
  const input = isPiped ? shell.stdin : createReadStream(file);
  return { text: await readAll(input, { what, from, bytesMax }, shell.interrupted()), from };
}
