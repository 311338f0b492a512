/** Time as a value that is passed in, so that tests move it by hand. */
export interface Clock {
  /** Wall-clock time, milliseconds since 1970; may jump. */
  now(): number;
  /** Monotonic milliseconds; for durations. */
  monotonic(): number;
  /** Calls `callback` once after `ms` milliseconds; the returned function cancels it. Does not keep the process alive. */
  after(ms: number, callback: () => void): () => void;
}

/** Longest delay that a Node timer takes; a longer one would fire at once. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** The machine's own clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, callback) {
    const timer = setTimeout(callback, Math.min(Math.max(ms, 0), TIMER_MS_MAX));
    timer.unref();
    return () => clearTimeout(timer);
  },
};

/** Waits `ms`; rejects with the signal's reason when it aborts first. */
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
