/** Peering tokens as commands take them: from a file or a pipe, never from the command line, which others can read. */
import { createReadStream } from 'node:fs';
import { CommandError } from '../errors.ts';
import { PEERING_TOKEN_BYTES_MAX } from '../limits.ts';
import { note, type Shell } from '../shell.ts';
import { readAll } from './read-all.ts';

/**
 * The peering token in the file, or on standard input when none is named (or `-`). Spaces and line breaks that mail and
 * terminals put into it are taken out: a token has none.
 * @throws CommandError `usage`; the reason of the interruption
 */
export async function readPeeringToken(shell: Shell, file: string | undefined): Promise<string> {
  const isPiped = file === undefined || file === '-';
  if (isPiped && shell.stdin.isTTY) note(shell, 'Paste the peering token, then press Enter and Ctrl-D:');
  const from = isPiped ? 'standard input' : `the file ${file}`;
  const input = isPiped ? shell.stdin : createReadStream(file);
  const reading = { what: 'the peering token', from, bytesMax: PEERING_TOKEN_BYTES_MAX };
  const text = await readAll(input, reading, shell.interrupted());
  const token = text.replaceAll(/\s/g, '');
  if (token === '') {
    throw new CommandError('usage', `${from} holds no peering token: pipe it in, or name its file with --token-file`);
  }
  return token;
}
