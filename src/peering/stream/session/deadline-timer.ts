/** One timer that is set again and again. */
import type { Clock } from '../../../state/clock/clock.ts';

export interface Alarm {
  /** Rings at `due` (monotonic, Infinity for never) or earlier; who is woken sets it again. */
  set(due: number): void;
}

/**
 * A later `due` leaves the timer as it is, so that a deadline which every message moves costs no timer a message: it rings
 * early once an interval instead.
 */
export function createAlarm(clock: Clock, ring: () => void): Alarm {
  let rings = Number.POSITIVE_INFINITY;
  let cancel: (() => void) | undefined;
  return {
    set(due) {
      if (due === Number.POSITIVE_INFINITY) {
        cancel?.();
        rings = due;
      }
      if (due >= rings) return;
      cancel?.();
      rings = due;
      cancel = clock.after(due - clock.monotonic(), () => {
        rings = Number.POSITIVE_INFINITY;
        ring();
      });
    },
  };
}
