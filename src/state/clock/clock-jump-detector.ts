/**
 * Detects jumps of the machine's wall clock by comparing it with the monotonic clock every second. Expiry follows the
 * wall clock regardless; jobs that delete irrecoverable data wait until the clock has been steady for a while.
 */

import { CLOCK_CHECK_MS, CLOCK_JUMP_MS } from '../limits.ts';
import type { Clock } from './clock.ts';

export interface ClockJumpDetector extends Disposable {
  /** Milliseconds since the last jump. The start counts as one, because machines can boot with a wrong clock. */
  steadyMs(): number;
}

/** Calls `onJump` with the size of each jump in milliseconds, negative if the clock went back, until disposed. */
export function detectClockJumps(clock: Clock, onJump: (jumpMs: number) => void): ClockJumpDetector {
  const offset = (): number => clock.now() - clock.monotonic();
  let lastOffset = offset();
  let steadySince = clock.monotonic();
  const check = (): void => {
    const current = offset();
    const jumpMs = Math.round(current - lastOffset);
    // Compared with the last check, not with the start, because NTP may slew a clock far without any jump.
    lastOffset = current;
    if (Math.abs(jumpMs) < CLOCK_JUMP_MS) return;
    steadySince = clock.monotonic();
    onJump(jumpMs);
  };
  const checkPeriodically = (): void => {
    check();
    cancel = clock.after(CLOCK_CHECK_MS, checkPeriodically);
  };
  let cancel = clock.after(CLOCK_CHECK_MS, checkPeriodically);
  return {
    steadyMs() {
      // Includes a jump since the last periodic check.
      check();
      return clock.monotonic() - steadySince;
    },
    [Symbol.dispose]: () => cancel(),
  };
}
