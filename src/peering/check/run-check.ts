/** Runs connection checks with a timeout and a limit on how many run in parallel ([PEER-100]). */
import { ServiceError } from '../../http/errors.ts';
import type { Clock } from '../../state/clock/clock.ts';
import { CHECKS_IN_PARALLEL_MAX } from './limits.ts';

export interface CheckRunner {
  /**
   * Runs checks under a signal that aborts at the timeout or when the client disconnects.
   * @throws ServiceError `rate-limited`, or `unavailable` when the client has disconnected
   */
  run<T>(caller: AbortSignal, checks: (signal: AbortSignal) => Promise<T>): Promise<T>;
}

/** @param timeMs the timeout of one run */
export function createCheckRunner(clock: Clock, timeMs: number): CheckRunner {
  let running = 0;
  return {
    async run(caller, checks) {
      if (running >= CHECKS_IN_PARALLEL_MAX) {
        const text = `${CHECKS_IN_PARALLEL_MAX} connection checks are under way on this server: try again when they are done`;
        throw new ServiceError('rate-limited', text, { retryAfterSeconds: Math.ceil(timeMs / 1_000) });
      }
      running += 1;
      const timeout = new AbortController();
      const cancel = clock.after(timeMs, () => timeout.abort());
      try {
        const result = await checks(AbortSignal.any([caller, timeout.signal]));
        // The response is lost. `unavailable` keeps the log free of an internal error.
        if (caller.aborted) throw new ServiceError('unavailable', 'the client disconnected before the check finished');
        return result;
      } finally {
        cancel();
        running -= 1;
      }
    },
  };
}
