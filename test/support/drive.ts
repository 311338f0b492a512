/** Moves a fake clock on, from timer to timer, for as long as something is under way. */
import { setImmediate } from 'node:timers/promises';
import type { FakeClock } from './fake-clock.ts';

/** Turns of the event loop after which everything that needs no timer has happened. */
const SETTLE_TURNS = 4;

export interface DriveOptions {
  readonly clock: FakeClock;
  /** A simulation that takes longer hangs. */
  readonly simulatedMsMax: number;
  /** Called whenever everything that a moment brought has happened; what it throws ends the simulation. */
  readonly settled?: () => void;
  /** Something is under way that takes real time: the clock stands still. */
  readonly isBusy?: () => boolean;
}

/** Moves time on until `promise` settles. Throws when nothing is left that could settle it. */
export async function drive<T>(options: DriveOptions, promise: Promise<T>): Promise<T> {
  const { clock, simulatedMsMax, settled = () => undefined, isBusy = () => false } = options;
  let isOver = false;
  const done = promise.finally(() => {
    isOver = true;
  });
  done.catch(() => undefined); // Awaited below.
  while (!isOver) {
    for (let turn = 0; turn < SETTLE_TURNS && !isOver; turn++) {
      await setImmediate();
      if (isBusy()) turn = -1;
    }
    if (isOver) break;
    settled();
    const nextMs = clock.nextDueMs();
    if (nextMs === undefined) throw new Error('the simulation stands still');
    if (clock.monotonic() > simulatedMsMax) throw new Error('the simulation does not come to an end');
    clock.advance(nextMs);
  }
  return done;
}
