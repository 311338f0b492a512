import type { Clock } from './clock.ts';

export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
}

/**
 * Runs `action` with a signal that aborts when `signal` aborts or after `ms` milliseconds.
 * @throws DeadlineError after `ms` milliseconds; the reason of `signal` if it aborts first
 */
export async function withDeadline<T>(
  clock: Clock,
  ms: number,
  signal: AbortSignal,
  action: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  const inner = new AbortController();
  const onAbort = (): void => inner.abort(signal.reason);
  signal.addEventListener('abort', onAbort, { once: true });
  const cancel = clock.after(ms, () => inner.abort(new DeadlineError(`no answer within ${ms} ms`)));
  try {
    return await action(inner.signal);
  } catch (error) {
    if (inner.signal.aborted) throw inner.signal.reason;
    throw error;
  } finally {
    cancel();
    signal.removeEventListener('abort', onAbort);
  }
}
