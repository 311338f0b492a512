/** Describes a failed listener by the setting that configures it. */

/** The address of a listener is unusable. The message is complete for an operator. */
export class ListenError extends Error {
  override readonly name = 'ListenError';
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE: 'the port is in use: stop the other process, or choose another port',
  EADDRNOTAVAIL: 'this machine does not have the address',
  EACCES: 'this user may not listen on the port: choose a port above 1023',
};

/** Waits for a listener and names `setting` in its errors. @throws ListenError, and any other error of `start` */
export async function describeListenErrors<T>(setting: string, start: Promise<T>): Promise<T> {
  try {
    return await start;
  } catch (error) {
    if (!isListenError(error)) throw error;
    const reason = REASONS[error.code] ?? error.code;
    throw new ListenError(`${setting}: cannot listen on ${error.address}:${error.port}: ${reason}`, { cause: error });
  }
}

interface SystemError extends Error {
  readonly code: string;
  readonly address: string;
  readonly port: number;
}

/** Whether the error comes from `listen` (TCP) or `bind` (UDP). */
const isListenError = (error: unknown): error is SystemError =>
  error instanceof Error && 'syscall' in error && ['listen', 'bind'].includes(String(error.syscall)) && 'port' in error;
