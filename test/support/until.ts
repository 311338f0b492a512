import { setTimeout as delay } from 'node:timers/promises';

/** Generous, because tests that run in parallel slow each other down. No test measures this time. */
const TIMEOUT_MS_DEFAULT = 30_000;

/** Waits until `condition` holds. @throws Error with `what`, if it does not hold within `ms` */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  ms = TIMEOUT_MS_DEFAULT,
): Promise<void> {
  const end = Date.now() + ms;
  while (!(await condition())) {
    if (Date.now() >= end) throw new Error(`not within ${ms} ms: ${what}`);
    await delay(5);
  }
}
