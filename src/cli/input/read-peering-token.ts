/** Reads peering tokens from files and pipes, but not from arguments, which other processes can see. */
import { CommandError } from '../errors.ts';
import { PEERING_TOKEN_BYTES_MAX } from '../limits.ts';
import { note, type Shell } from '../shell.ts';
import { readFileOrStdin } from './read-file.ts';

/**
 * Reads a peering token from the file, or from standard input if the name is `-` or missing. Removes white space,
 * because mail programs and terminals insert it and a token contains none.
 * @throws CommandError `usage`; the reason of the interruption
 */
export async function readPeeringToken(shell: Shell, file = '-'): Promise<string> {
  if (file === '-' && shell.stdin.isTTY) note(shell, 'Paste the peering token, then press Enter and Ctrl-D:');
  const source = { what: 'the peering token', bytesMax: PEERING_TOKEN_BYTES_MAX };
  const { text, from } = await readFileOrStdin(shell, file, source);
  const token = text.replaceAll(/\s/g, '');
  if (token === '') {
    throw new CommandError(
      'usage',
      `${from} contains no peering token: pipe the token to standard input, or name its file with --token-file`,
    );
  }
  return token;
}
