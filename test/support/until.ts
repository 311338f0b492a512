import { setTimeout as delay } from 'node:timers/promises';

/** Patience alone, of which nothing is measured: what takes milliseconds takes seconds beside other tests. */
const PATIENCE_MS = 30_000;

/** Waits until `condition` holds; fails naming `what` when it does not within `ms`. */
export async function until(
  what: string,
  condition: () => boolean | Promise<boolean>,
  ms = PATIENCE_MS,
): Promise<void> {
  const end = Date.now() + ms;
  while (!(await condition())) {
    if (Date.now() >= end) throw new Error(`not within ${ms} ms: ${what}`);
    await delay(5);
  }
}
