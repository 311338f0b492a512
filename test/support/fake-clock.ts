import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../../src/state/clock/clock.ts';

/** A clock that only advances when a test advances it. */
export interface FakeClock extends Clock {
  /** Advances the time by `ms` and fires the due timers in order. Promises do not run in between. */
  advance(ms: number): void;
  /** Advances the time by `ms`. After each due timer, the event loop runs, so that timer callbacks can set timers. */
  run(ms: number): Promise<void>;
  /** Moves the wall clock by `ms`. No timer fires. */
  jump(ms: number): void;
  /** Number of timers that are set. */
  readonly timerCount: number;
  /** Milliseconds until the next timer is due. `undefined` if no timer is set. */
  nextDueMs(): number | undefined;
}

interface Timer {
  readonly at: number;
  readonly callback: () => void;
}

/** Turns of the event loop that `run` waits after each timer. The code under test has short promise chains. */
const SETTLE_TURNS = 3;

/** @param startMs the initial wall-clock time */
export function createFakeClock(startMs = Date.UTC(2030, 0, 1)): FakeClock {
  const timers = new Set<Timer>();
  let elapsed = 0;
  let offset = startMs;

  const nextTimer = (): Timer | undefined => {
    let next: Timer | undefined;
    for (const timer of timers) if (next === undefined || timer.at < next.at) next = timer;
    return next;
  };
  /** Fires the next timer if it is due by `end`. @returns whether it fired a timer */
  const fire = (end: number): boolean => {
    const timer = nextTimer();
    if (timer === undefined || timer.at > end) return false;
    timers.delete(timer);
    elapsed = Math.max(elapsed, timer.at);
    timer.callback();
    return true;
  };

  return {
    now: () => offset + elapsed,
    monotonic: () => elapsed,
    after(ms, callback) {
      const timer = { at: elapsed + Math.max(ms, 0), callback };
      timers.add(timer);
      return () => timers.delete(timer);
    },
    advance(ms) {
      const end = elapsed + ms;
      while (fire(end));
      elapsed = end;
    },
    async run(ms) {
      const end = elapsed + ms;
      do {
        for (let turn = 0; turn < SETTLE_TURNS; turn++) await setImmediate();
      } while (fire(end));
      elapsed = end;
    },
    jump(ms) {
      offset += ms;
    },
    get timerCount() {
      return timers.size;
    },
    nextDueMs() {
      const next = nextTimer();
      return next === undefined ? undefined : Math.max(0, next.at - elapsed);
    },
  };
}
