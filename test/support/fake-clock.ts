import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../../src/state/clock/clock.ts';

/** A clock that stands still until a test moves it. */
export interface FakeClock extends Clock {
  /** Moves time on by `ms` and calls what falls due, in order, without letting promises run in between. */
  advance(ms: number): void;
  /** Moves time on by `ms`, stopping where a timer falls due so that what it starts can run and set further timers. */
  run(ms: number): Promise<void>;
  /** Lets the wall clock jump by `ms`; nothing falls due. */
  jump(ms: number): void;
  /** How many timers are set. */
  readonly timers: number;
  /** Milliseconds until the next timer falls due; `undefined` when none is set. */
  nextDueMs(): number | undefined;
}

interface Timer {
  readonly at: number;
  readonly callback: () => void;
}

/** Turns of the event loop that `run` leaves after each timer: promise chains of the code under test are short. */
const SETTLE_TURNS = 3;

/** @param startMs wall-clock time at the beginning */
export function createFakeClock(startMs = Date.UTC(2030, 0, 1)): FakeClock {
  const timers = new Set<Timer>();
  let elapsed = 0;
  let offset = startMs;

  const nextTimer = (): Timer | undefined => {
    let next: Timer | undefined;
    for (const timer of timers) if (next === undefined || timer.at < next.at) next = timer;
    return next;
  };
  /** Fires one timer that is due until `end`; false when there is none. */
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
    get timers() {
      return timers.size;
    },
    nextDueMs() {
      const next = nextTimer();
      return next === undefined ? undefined : Math.max(0, next.at - elapsed);
    },
  };
}
