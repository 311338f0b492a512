/** The clock of one simulated process: its timers end with it, and its wall clock jumps alone. */
import type { Clock } from '../../../src/state/clock/clock.ts';

export interface ProcessClock extends Clock {
  /** Milliseconds by which the wall clock is off. */
  offsetMs: number;
  /** How many timers are set. */
  readonly timers: number;
  /** The process dies: nothing falls due any more. */
  kill(): void;
}

/** @param world the time of everybody */
export function createProcessClock(world: Clock): ProcessClock {
  const timers = new Set<() => void>();
  let dead = false;
  return {
    offsetMs: 0,
    now() {
      return world.now() + this.offsetMs;
    },
    monotonic: () => world.monotonic(),
    after(ms, callback) {
      if (dead) return () => undefined;
      const cancel = world.after(ms, () => {
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
