/** Running checks for a caller: bounded in time and number, and for nobody who has left. */
import { ServiceError } from '../../http/errors.ts';
import type { Clock } from '../../state/clock/clock.ts';
import { CHECKS_AT_ONCE_MAX } from './limits.ts';

export interface CheckRunner {
  /**
   * Runs checks under a signal that aborts when their time is over or the caller leaves.
   * @throws ServiceError `rate-limited`, or `unavailable` when the caller has left
   */
  run<T>(caller: AbortSignal, checks: (signal: AbortSignal) => Promise<T>): Promise<T>;
}

/** @param timeMs how long one run may take */
export function createCheckRunner(clock: Clock, timeMs: number): CheckRunner {
  let running = 0;
  return {
    async run(caller, checks) {
      if (running >= CHECKS_AT_ONCE_MAX) {
        const text = `${CHECKS_AT_ONCE_MAX} connection checks are under way on this server: try again when they are done`;
        throw new ServiceError('rate-limited', text, { retryAfterSeconds: Math.ceil(timeMs / 1_000) });
      }
      running += 1;
      const over = new AbortController();
      const cancel = clock.after(timeMs, () => over.abort());
      try {
        const result = await checks(AbortSignal.any([caller, over.signal]));
        // Nobody reads it; it must not pass for a fault of ours in the log.
        if (caller.aborted) throw new ServiceError('unavailable', 'the caller left before the check was done');
        return result;
      } finally {
        cancel();
        running -= 1;
      }
    },
  };
}
