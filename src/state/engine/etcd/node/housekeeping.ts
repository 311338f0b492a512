/**
 * What one node does for the store every minute or so; two at once do no harm.
 *
 * - Compaction to the revision of some minutes ago. etcd does not know which revision belongs to which time, so this
 *   notes it; a node that takes the task over therefore begins to compact only after that time.
 * - Writer keys of vanished nodes. They must outlive any doubt about their last commit, so they go only when they have
 *   not changed for as long as history is kept.
 * - Rows of other generations: what an import that failed has left. Only when commits have been made, because until
 *   then an import may be under way; the head it is guarded by has moved since.
 */
import type { Clock } from '../../../clock/clock.ts';
import type { EtcdClient } from '../client/client.ts';
import { failureKind, stateErrorOf } from '../client/failures.ts';
import { decodeKeyValue, readKey, readRange, remove, removeRange, unchangedSince } from '../client/requests.ts';
import { readPosition } from '../head-record.ts';
import { after, type KeyRange, type Keys, text } from '../keys.ts';
import { FIRST_INDEX, REMOVED_AT_ONCE, SAMPLE_MS, WRITER_KEPT_MS } from '../limits.ts';
import { parseNode } from './live-nodes.ts';

export interface HousekeepingOptions {
  readonly client: EtcdClient;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly compactMs: number | 'off';
}

/** A revision and the monotonic time at which it was the newest. */
interface Sample {
  readonly revision: bigint;
  readonly at: number;
}

/** A writer key as it was found, and since when it has looked like that. */
interface Seen {
  readonly revision: bigint;
  readonly since: number;
}

/** Returns the task; it keeps what it noted between calls. */
export function createHousekeeping(options: HousekeepingOptions): (signal: AbortSignal) => Promise<void> {
  const samples: Sample[] = [];
  const writers = new Map<string, Seen>();
  return async (signal) => {
    try {
      await removeDeadWriters(options, writers, signal);
      await removeOtherGenerations(options, signal);
      await compact(options, samples, signal);
    } catch (error) {
      throw stateErrorOf(error);
    }
  };
}

async function compact(options: HousekeepingOptions, samples: Sample[], signal: AbortSignal): Promise<void> {
  const { client, keys, clock, compactMs } = options;
  if (compactMs === 'off') return;
  const { header } = await readKey(client, keys.head, signal);
  const now = clock.monotonic();
  const newest = samples.at(-1);
  if (newest === undefined || now - newest.at >= Math.min(SAMPLE_MS, compactMs)) {
    samples.push({ revision: header.revision, at: now });
  }
  const old = samples.findLastIndex(({ at }) => now - at >= compactMs);
  const target = samples[old];
  if (target === undefined) return;
  samples.splice(0, old + 1);
  await client
    .retry((endpoint, call) => endpoint.kv.compact({ revision: target.revision }, call), signal)
    .catch((error) => {
      // Another node was quicker and compacted more.
      if (failureKind(error) !== 'compacted') throw error;
    });
}

async function removeDeadWriters(
  { client, keys, clock, compactMs }: HousekeepingOptions,
  seen: Map<string, Seen>,
  signal: AbortSignal,
): Promise<void> {
  const nodes = await readRange(client, keys.nodes, 0n, signal);
  const live = new Set(nodes.map((kv) => parseNode(text(kv.value)).incarnation));
  const keptMs = compactMs === 'off' ? WRITER_KEPT_MS : compactMs;
  const now = clock.monotonic();
  const found = await readRange(client, keys.writers, 0n, signal);
  const present = new Set<string>();
  for (const { key, modRevision } of found) {
    const parsed = keys.parse(key);
    if (parsed.kind !== 'writer' || live.has(parsed.incarnation)) continue;
    present.add(parsed.incarnation);
    const before = seen.get(parsed.incarnation);
    if (before?.revision !== modRevision) {
      seen.set(parsed.incarnation, { revision: modRevision, since: now });
    } else if (now - before.since >= keptMs) {
      const transaction = { compare: [unchangedSince(key, modRevision)], success: [remove(key)] };
      await client.retry((endpoint, call) => endpoint.kv.txn(transaction, call), signal);
    }
  }
  for (const incarnation of seen.keys()) if (!present.has(incarnation)) seen.delete(incarnation);
}

async function removeOtherGenerations({ client, keys }: HousekeepingOptions, signal: AbortSignal): Promise<void> {
  const { kv } = await readKey(client, keys.head, signal);
  if (kv === undefined) return;
  const { generation, index } = readPosition(kv).record;
  if (index === FIRST_INDEX) return;
  const current = keys.generation(generation);
  await removeInBatches(client, { key: keys.generations.key, rangeEnd: current.key }, signal);
  await removeInBatches(client, { key: current.rangeEnd, rangeEnd: keys.generations.rangeEnd }, signal);
}

/** Never more in one request than etcd removes in a moment. */
async function removeInBatches(client: EtcdClient, range: KeyRange, signal: AbortSignal): Promise<void> {
  for (;;) {
    const request = { ...range, limit: REMOVED_AT_ONCE, keysOnly: true };
    const { kvs, more } = await client.retry((endpoint, call) => endpoint.kv.range(request, call), signal);
    const last = kvs.at(-1);
    if (last === undefined) return;
    const batch = { key: range.key, rangeEnd: after(decodeKeyValue(last).key) };
    await client.retry((endpoint, call) => endpoint.kv.txn({ success: [removeRange(batch)] }, call), signal);
    if (!more) return;
  }
}
