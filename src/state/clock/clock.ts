/** A source of time. Passed in, so that tests can control it. */
export interface Clock {
  /** Wall-clock time in milliseconds since 1970. It may jump. */
  now(): number;
  /** Monotonic time in milliseconds, for durations. */
  monotonic(): number;
  /** Calls `callback` once after `ms` milliseconds; does not keep the process alive. @returns the cancel function */
  after(ms: number, callback: () => void): () => void;
}

/** The longest delay of a Node timer. A longer one would fire at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, Math.min(Math.max(ms, 0), TIMER_MS_MAX));
    timer.unref();
    return () => clearTimeout(timer);
  },
};

/** Waits `ms` milliseconds. Rejects with the signal's reason if the signal aborts first. */
export function sleep(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    const onAbort = (): void => {
      cancel();
      reject(signal.reason);
    };
    const cancel = clock.after(ms, () => {
      signal.removeEventListener('abort', onAbort);
      resolve();
    });
    signal.addEventListener('abort', onAbort, { once: true });
  });
}
