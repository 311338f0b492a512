/** The clock of one simulated process. Its timers end with the process, and its wall clock can jump by itself. */
import type { Clock } from '../../../src/state/clock/clock.ts';

export interface ProcessClock extends Clock {
  /** Offset of the wall clock in milliseconds. */
  offsetMs: number;
  /** Number of active timers. */
  readonly timers: number;
  /** Ends the process: no timer fires any more. */
  kill(): void;
}

/** @param shared the clock that all processes share */
export function createProcessClock(shared: Clock): ProcessClock {
  const timers = new Set<() => void>();
  let dead = false;
  return {
    offsetMs: 0,
    now() {
      return shared.now() + this.offsetMs;
    },
    monotonic: () => shared.monotonic(),
    after(ms, callback) {
      if (dead) return () => undefined;
      const cancel = shared.after(ms, () => {
        timers.delete(end);
        callback();
      });
      const end = (): void => {
        timers.delete(end);
        cancel();
      };
      timers.add(end);
      return end;
    },
    get timers() {
      return timers.size;
    },
    kill() {
      dead = true;
      for (const end of timers) end();
    },
  };
}
