/**
 * Notices when somebody sets the machine's clock: wall and monotonic clock are compared each second. What ends by the
 * clock ends by it all the same; but what cannot be taken back waits until the clock has proved steady.
 */

import { CLOCK_CHECK_MS, CLOCK_JUMP_MS } from '../limits.ts';
import type { Clock } from './clock.ts';

export interface ClockWatch extends Disposable {
  /**
   * For how long the wall clock has run without a jump, in milliseconds. A start counts as one: where the clock stood
   * before is not known, and machines come up with wrong ones.
   */
  steadyMs(): number;
}

/** Watches until it is disposed. @param onJump gets by how much the clock jumped, in milliseconds; negative: back */
export function watchClock(clock: Clock, onJump: (jumpMs: number) => void): ClockWatch {
  const offset = (): number => clock.now() - clock.monotonic();
  let lastOffset = offset();
  let steadySince = clock.monotonic();
  const look = (): void => {
    const current = offset();
    const jumpMs = Math.round(current - lastOffset);
    // From one look to the next: a clock that is slewed, as NTP does, gets anywhere without ever jumping.
    lastOffset = current;
    if (Math.abs(jumpMs) < CLOCK_JUMP_MS) return;
    steadySince = clock.monotonic();
    onJump(jumpMs);
  };
  const lookAgain = (): void => {
    look();
    cancel = clock.after(CLOCK_CHECK_MS, lookAgain);
  };
  let cancel = clock.after(CLOCK_CHECK_MS, lookAgain);
  return {
    steadyMs() {
      // A jump of this very moment counts as well.
      look();
      return clock.monotonic() - steadySince;
    },
    [Symbol.dispose]: () => cancel(),
  };
}
