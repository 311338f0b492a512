/** How errors that end the server become exit codes. */
import { FirstStartError } from '../credentials/first-credentials.ts';
import { DataKeyError } from '../peering/record/encrypted-secret.ts';
import { isStateError } from '../state/errors.ts';
import { ImportError } from '../state/transfer/export-file.ts';
import { ListenError } from './listening.ts';

/** What the settings or the command line must mend. */
const EXIT_USAGE = 2;
/** Everything else that keeps a server from running. */
export const EXIT_FAILED = 1;

/**
 * The exit code for an error whose message tells an operator all there is to tell; `undefined` for any other: it is a
 * mistake in the program, and needs its stack, or has words of its own elsewhere, as bad settings do.
 */
export function exitCodeOf(error: unknown): number | undefined {
  if (error instanceof FirstStartError || error instanceof DataKeyError) return EXIT_USAGE;
  if (isStateError(error, 'name-taken')) return EXIT_USAGE;
  if (error instanceof ImportError || error instanceof ListenError || isStateError(error)) return EXIT_FAILED;
  // Of the system: a file that cannot be read.
  return error instanceof Error && 'syscall' in error ? EXIT_FAILED : undefined;
}
