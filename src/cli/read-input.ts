/** Peering tokens as commands take them: from a file or a pipe, never from the command line, which others can read. */
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { CommandError } from './errors.ts';
import { PEERING_TOKEN_BYTES_MAX } from './limits.ts';
import { note, type Shell } from './shell.ts';

/**
 * The peering token in the file, or on standard input when none is named (or `-`). Spaces and line breaks that mail and
 * terminals put into it are taken out: a token has none.
 * @throws CommandError `usage`; the reason of the interruption
 */
export async function readPeeringToken(shell: Shell, file: string | undefined): Promise<string> {
  const isPiped = file === undefined || file === '-';
  if (isPiped && shell.stdin.isTTY) note(shell, 'Paste the peering token, then press Enter and Ctrl-D:');
  const from = isPiped ? 'standard input' : `the file ${file}`;
  const text = await readAll(isPiped ? shell.stdin : createReadStream(file), from, shell.interrupted());
  const token = text.replaceAll(/\s/g, '');
  if (token === '') {
    throw new CommandError('usage', `${from} holds no peering token: pipe it in, or name its file with --token-file`);
  }
  return token;
}

async function readAll(input: Readable, from: string, signal: AbortSignal): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  const leave = (): void => void input.destroy(signal.reason);
  signal.addEventListener('abort', leave, { once: true });
  try {
    for await (const chunk of input) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > PEERING_TOKEN_BYTES_MAX) throw new Error(`it has more than ${PEERING_TOKEN_BYTES_MAX} bytes`);
    }
  } catch (cause) {
    signal.throwIfAborted();
    throw new CommandError('usage', `cannot read the peering token in ${from}: ${(cause as Error).message}`, { cause });
  } finally {
    signal.removeEventListener('abort', leave);
  }
  return Buffer.concat(chunks).toString();
}
