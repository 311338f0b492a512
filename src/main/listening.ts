/** Why a listener cannot be had, in terms of the setting that asks for it. */

/** The system refuses to listen where a setting wants it. The message says all that an operator needs. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'another process listens there: end it, or choose another port',
  EADDRNOTAVAIL: 'this machine has no such address',
  EACCES: 'the system does not let this user listen on that port: choose one above 1023',
};

/** Waits for a listener of the setting with that key. @throws ListenError, and what `start` throws besides */
export async function listening<T>(setting: string, start: Promise<T>): Promise<T> {
  try {
    return await start;
  } catch (error) {
    if (!isOfListening(error)) throw error;
    const reason = REASONS[error.code] ?? error.code;
    throw new ListenError(`${setting}: cannot listen on ${error.address}:${error.port}: ${reason}`, { cause: error });
  }
}

interface SystemError extends Error {
  readonly code: string;
  readonly address: string;
  readonly port: number;
}

/** Of `listen` (TCP), or of `bind` (UDP). */
const isOfListening = (error: unknown): error is SystemError =>
  error instanceof Error && 'syscall' in error && ['listen', 'bind'].includes(String(error.syscall)) && 'port' in error;
