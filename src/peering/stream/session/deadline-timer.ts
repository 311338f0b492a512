/** A timer that can be set to a new deadline any number of times. */
import type { Clock } from '../../../state/clock/clock.ts';

export interface DeadlineTimer {
  /** Sets the deadline, in monotonic milliseconds. Infinity cancels the timer. */
  set(deadline: number): void;
}

/**
 * Calls `onDue` once, at the earliest deadline that was set. A later deadline does not move the timer, because one that
 * every message postpones would then cost a timer per message. So `onDue` may run early, and sets the timer again.
 */
export function createDeadlineTimer(clock: Clock, onDue: () => void): DeadlineTimer {
  let dueAt = Number.POSITIVE_INFINITY;
  let cancel: (() => void) | undefined;
  return {
    set(deadline) {
      if (deadline === Number.POSITIVE_INFINITY) {
        cancel?.();
        dueAt = deadline;
      }
      if (deadline >= dueAt) return;
      cancel?.();
      dueAt = deadline;
      cancel = clock.after(deadline - clock.monotonic(), () => {
        dueAt = Number.POSITIVE_INFINITY;
        onDue();
      });
    },
  };
}
