/** Waits for a thing on one server and changes it on another: the query is answered with the change. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../test/support/random.ts';
import type { Ask, Client, Place } from './client.ts';
import type { Keeper } from './keeper.ts';
import type { Kind } from './kinds/kind.ts';
import type { Outcome } from './known.ts';
import { HELD_MS, TOLD_MS, WAIT_MS } from './limits.ts';
import { linkedSignal } from './linked-signal.ts';
import { currentValue, type Thing } from './thing.ts';

export interface AwaitParts {
  readonly kind: Kind;
  readonly keeper: Keeper;
  readonly places: readonly Place[];
  readonly client: Client;
  readonly random: Random;
  /** Milliseconds, monotonic. */
  now(): number;
}

/** Does it with the thing at `at`. @returns how the change ended, or the read before it where there was none */
export async function awaitChange(parts: AwaitParts, at: number, signal: AbortSignal): Promise<Outcome> {
  const { kind, keeper, places, random, now } = parts;
  const place = random.pick(places);
  const { key, id } = keeper.things[at] as Thing; // Of as many.
  const what = kind.read(key, id);
  const outcome = await keeper.readOne(at, place, signal);
  const before = currentValue(keeper.things[at] as Thing);
  const away = outcome === 'unavailable' || outcome === 'unknown';
  if (away || what === undefined || before === undefined) return outcome;
  using held = linkedSignal(signal);
  const next = keeper.nextValue(at);
  const acknowledged: Acknowledged = {};
  const holding = hold(parts, at, { place, what, before, next, acknowledged }, held.signal);
  // So that it is held when the change comes, mostly.
  await delay(random.below(HELD_MS), undefined, { signal }).catch(() => undefined);
  const done = await keeper.write(at, next, random.pick(places), signal);
  if (done === 'done') acknowledged.ms = now();
  else held.end();
  await holding;
  return done;
}

/** When the change was acknowledged, once it was. */
interface Acknowledged {
  ms?: number;
}

interface Awaited {
  readonly place: Place;
  readonly what: Ask;
  readonly before: string;
  readonly next: string;
  readonly acknowledged: Readonly<Acknowledged>;
}

async function hold(
  { kind, keeper, client, now }: AwaitParts,
  at: number,
  { place, what, before, next, acknowledged }: Awaited,
  signal: AbortSignal,
): Promise<void> {
  // The first answer comes at once, with the index to wait from.
  let index = 1;
  while (!signal.aborted) {
    const waitFrom = `index=${index}&wait=${WAIT_MS / 1000}s`;
    const answerMs = WAIT_MS + TOLD_MS;
    const told = await client.ask(place, what, { label: `${kind.name} await`, signal, waitFrom, answerMs });
    const thing = keeper.things[at] as Thing; // Of as many.
    const seen = keeper.understood(place, what, told, (answer) => kind.readOne(answer, thing.key));
    if (seen === undefined) return;
    const late = acknowledged.ms !== undefined && now() - acknowledged.ms > TOLD_MS;
    const wrong = seen.value !== before && seen.value !== next;
    if (late)
      keeper.violated('a query that waits is answered when something has changed', { place, what, told }, thing);
    if (wrong) keeper.violated('a query that waits shows what is, or what was', { place, what, told }, thing);
    if (late || seen.value !== before) return;
    index = Number(told.answer?.headers['x-service-index'] ?? index);
  }
}
