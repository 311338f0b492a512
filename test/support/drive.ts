/** Advances a fake clock from timer to timer until a promise settles. */
import { setImmediate } from 'node:timers/promises';
import type { FakeClock } from './fake-clock.ts';

/** Turns of the event loop after which all work that needs no timer is done. */
const SETTLE_TURNS = 4;

export interface DriveOptions {
  readonly clock: FakeClock;
  /** Simulated time after which the simulation counts as hung. */
  readonly simulatedMsMax: number;
  /** Called before each advance of the clock. An error that it throws ends the simulation. */
  readonly onSettled?: () => void;
  /** Whether work that takes real time is in flight. The clock does not advance until it is done. */
  readonly isBusy?: () => boolean;
}

/** Advances the clock until `promise` settles. Throws if no timer is left that could settle it. */
export async function drive<T>(options: DriveOptions, promise: Promise<T>): Promise<T> {
  const { clock, simulatedMsMax, onSettled: settled = () => undefined, isBusy = () => false } = options;
  let isSettled = false;
  const done = promise.finally(() => {
    isSettled = true;
  });
  done.catch(() => undefined); // Awaited below.
  while (!isSettled) {
    for (let turn = 0; turn < SETTLE_TURNS && !isSettled; turn++) {
      await setImmediate();
      if (isBusy()) turn = -1;
    }
    if (isSettled) break;
    settled();
    const nextMs = clock.nextDueMs();
    if (nextMs === undefined) throw new Error('the simulation is stuck: no timer is set');
    if (clock.monotonic() > simulatedMsMax)
      throw new Error(`the simulation did not end within ${simulatedMsMax} ms of simulated time`);
    clock.advance(nextMs);
  }
  return done;
}
