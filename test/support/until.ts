import { setTimeout as delay } from 'node:timers/promises';

/** Waits until `condition` holds; fails naming `what` when it does not within `ms`. */
export async function until(what: string, condition: () => boolean | Promise<boolean>, ms = 10_000): Promise<void> {
  const end = Date.now() + ms;
  while (!(await condition())) {
    if (Date.now() >= end) throw new Error(`not within ${ms} ms: ${what}`);
    await delay(5);
  }
}
