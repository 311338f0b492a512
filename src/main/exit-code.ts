/** Maps errors that end the server to exit codes. */
import { FirstStartError } from '../credentials/first-credentials.ts';
import { DataKeyError } from '../peering/record/encrypted-secret.ts';
import { isStateError } from '../state/errors.ts';
import { ImportError } from '../state/transfer/export-file.ts';
import { ListenError } from './listener.ts';

/** The settings or the command line are wrong. */
const EXIT_USAGE = 2;
/** Every other failure. */
export const EXIT_FAILED = 1;

/**
 * Returns the exit code of an error whose message is complete for an operator. Returns `undefined` for a bug, which
 * needs its stack trace, and for errors that are reported elsewhere, such as ConfigError.
 */
export function exitCodeOf(error: unknown): number | undefined {
  if (error instanceof FirstStartError || error instanceof DataKeyError) return EXIT_USAGE;
  if (isStateError(error, 'name-taken')) return EXIT_USAGE;
  if (error instanceof ImportError || error instanceof ListenError || isStateError(error)) return EXIT_FAILED;
  // A system call failed, for example because a file cannot be read.
  return error instanceof Error && 'syscall' in error ? EXIT_FAILED : undefined;
}
