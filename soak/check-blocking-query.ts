/** Checks blocking queries: waits for a resource on one server while another server changes it. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../test/support/random.ts';
import type { ApiRequest, Client, Target } from './client.ts';
import type { ResourceKind } from './kinds/resource-kind.ts';
import { CHANGE_DELAY_MS_MAX, NOTIFY_MS, WAIT_MS } from './limits.ts';
import { linkedSignal } from './linked-signal.ts';
import type { Outcome } from './model.ts';
import type { ModelChecker } from './model-checker.ts';
import { currentValue, type TrackedResource } from './tracked-resource.ts';

export interface BlockingQueryCheckOptions {
  readonly kind: ResourceKind;
  readonly checker: ModelChecker;
  readonly targets: readonly Target[];
  readonly client: Client;
  readonly random: Random;
  /** Milliseconds of a monotonic clock. */
  now(): number;
}

/**
 * Runs the check with one resource: reads it, and then writes it while a blocking query waits for the change. Returns
 * the outcome of the read if the write is skipped, and otherwise the outcome of the write.
 */
export async function checkBlockingQuery(
  options: BlockingQueryCheckOptions,
  slot: number,
  signal: AbortSignal,
): Promise<Outcome> {
  const { kind, checker, targets, random, now } = options;
  const target = random.pick(targets);
  const { key, id } = checker.resources[slot] as TrackedResource; // A valid slot.
  const request = kind.read(key, id);
  const outcome = await checker.readOne(slot, target, signal);
  const before = currentValue(checker.resources[slot] as TrackedResource);
  const hasFailed = outcome === 'unavailable' || outcome === 'unknown';
  if (hasFailed || request === undefined || before === undefined) return outcome;
  using waiting = linkedSignal(signal);
  const next = checker.nextValue(slot);
  const acknowledgment: Acknowledgment = {};
  const change = { target, request, before, next, acknowledgment };
  const query = waitForChange(options, slot, change, waiting.signal);
  // The query usually reaches the server before the change.
  await delay(random.below(CHANGE_DELAY_MS_MAX), undefined, { signal }).catch(() => undefined);
  const written = await checker.write(slot, next, random.pick(targets), signal);
  if (written === 'done') acknowledgment.ms = now();
  else waiting.abort();
  await query;
  return written;
}

interface Acknowledgment {
  /** The time of the acknowledgment, once it has arrived. */
  ms?: number;
}

interface Change {
  readonly target: Target;
  readonly request: ApiRequest;
  readonly before: string;
  readonly next: string;
  readonly acknowledgment: Readonly<Acknowledgment>;
}

async function waitForChange(
  { kind, checker, client, now }: BlockingQueryCheckOptions,
  slot: number,
  { target, request, before, next, acknowledgment }: Change,
  signal: AbortSignal,
): Promise<void> {
  // The first query returns immediately, with the index to wait from.
  let index = 1;
  while (!signal.aborted) {
    const result = await client.send(target, request, {
      label: `${kind.name} wait`,
      signal,
      blockingQuery: `index=${index}&wait=${WAIT_MS / 1000}s`,
      timeoutMs: WAIT_MS + NOTIFY_MS,
    });
    const exchange = { target, request, result };
    const resource = checker.resources[slot] as TrackedResource; // A valid slot.
    const observed = checker.parse(exchange, (response) => kind.parseRead(response, resource.key));
    if (observed === undefined) return;
    const isLate = acknowledgment.ms !== undefined && now() - acknowledgment.ms > NOTIFY_MS;
    const isWrong = observed.value !== before && observed.value !== next;
    if (isLate) checker.report('a blocking query returns after a change', exchange, resource);
    if (isWrong) checker.report('a blocking query returns the old or the new value', exchange, resource);
    if (isLate || observed.value !== before) return;
    index = Number(result.response?.headers['x-service-index'] ?? index);
  }
}
