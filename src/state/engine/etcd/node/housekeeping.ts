/**
 * Maintenance of the store, which one node runs every 60 s. Two nodes that run it at once do no harm [ETCD-80].
 *
 * - Compacts history older than `etcd.compact`. etcd does not record which revision belongs to which time, so this file
 *   does; a node that takes over the job starts to compact only after that time [ETCD-81].
 * - Deletes the writer keys of vanished incarnations that have not changed for as long as history is kept, because a
 *   writer key must outlive any doubt about its last commit [ETCD-82].
 * - Deletes the rows of other generations, which failed imports left. Waits for the first commit, because an import may
 *   be in progress until then; the commit makes its guard fail [ETCD-83].
 */
import type { Clock } from '../../../clock/clock.ts';
import type { EtcdClient } from '../client/client.ts';
import { failureKind, toStateError } from '../client/failures.ts';
import type { Log } from '../client/options.ts';
import { decodeKeyValue, modRevisionEquals, readKey, readRange, remove, removeRange } from '../client/requests.ts';
import { decodePosition } from '../head-record.ts';
import { decodeUtf8, type KeyRange, type Keys, keyAfter } from '../keys.ts';
import { DELETE_BATCH_KEYS, FIRST_INDEX, HOUSEKEEPING_INTERVAL_MS, WRITER_KEY_RETENTION_MS } from '../limits.ts';
import { parseNode } from './live-nodes.ts';

export interface HousekeepingOptions {
  readonly client: EtcdClient;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly log: Log;
  readonly compactMs: number | 'off';
}

/** The newest revision at a monotonic time. */
interface RevisionSample {
  readonly revision: bigint;
  readonly at: number;
}

/** The revision of a writer key, and the monotonic time since which it has not changed. */
interface SeenWriter {
  readonly revision: bigint;
  readonly since: number;
}

/** Creates the task. It keeps its records between runs. */
export function createHousekeeping(options: HousekeepingOptions): (signal: AbortSignal) => Promise<void> {
  const samples: RevisionSample[] = [];
  const writers = new Map<string, SeenWriter>();
  return async (signal) => {
    try {
      await removeDeadWriters(options, writers, signal);
      await removeOtherGenerations(options, signal);
      await compact(options, samples, signal);
    } catch (error) {
      throw toStateError(error);
    }
  };
}

async function compact(options: HousekeepingOptions, samples: RevisionSample[], signal: AbortSignal): Promise<void> {
  const { client, keys, clock, log, compactMs } = options;
  if (compactMs === 'off') return;
  const { header } = await readKey(client, keys.head, signal);
  const now = clock.monotonic();
  const newest = samples.at(-1);
  if (newest === undefined || now - newest.at >= Math.min(HOUSEKEEPING_INTERVAL_MS, compactMs)) {
    samples.push({ revision: header.revision, at: now });
  }
  const old = samples.findLastIndex(({ at }) => now - at >= compactMs);
  const target = samples[old];
  if (target === undefined) return;
  samples.splice(0, old + 1);
  await client
    .retry((endpoint, call) => endpoint.kv.compact({ revision: target.revision }, call), signal)
    .catch((error) => {
      const kind = failureKind(error);
      // Another node has compacted a later revision.
      if (kind === 'compacted') return;
      if (kind !== 'rejected') throw error;
      const remedy = 'give the user of etcd.username the role root, or set etcd.compact to off and compact otherwise';
      log('warn', 'etcd compaction rejected', { reason: String(error), remedy });
    });
}

async function removeDeadWriters(
  { client, keys, clock, compactMs }: HousekeepingOptions,
  seen: Map<string, SeenWriter>,
  signal: AbortSignal,
): Promise<void> {
  const nodes = await readRange(client, keys.nodes, 0n, signal);
  const live = new Set(nodes.map((kv) => parseNode(decodeUtf8(kv.value)).incarnation));
  const keptMs = compactMs === 'off' ? WRITER_KEY_RETENTION_MS : compactMs;
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
      const transaction = { compare: [modRevisionEquals(key, modRevision)], success: [remove(key)] };
      await client.retry((endpoint, call) => endpoint.kv.txn(transaction, call), signal);
    }
  }
  for (const incarnation of seen.keys()) if (!present.has(incarnation)) seen.delete(incarnation);
}

async function removeOtherGenerations({ client, keys }: HousekeepingOptions, signal: AbortSignal): Promise<void> {
  const { kv } = await readKey(client, keys.head, signal);
  if (kv === undefined) return;
  const { generation, index } = decodePosition(kv).record;
  if (index === FIRST_INDEX) return;
  const current = keys.generation(generation);
  await removeInBatches(client, { key: keys.generations.key, rangeEnd: current.key }, signal);
  await removeInBatches(client, { key: current.rangeEnd, rangeEnd: keys.generations.rangeEnd }, signal);
}

async function removeInBatches(client: EtcdClient, range: KeyRange, signal: AbortSignal): Promise<void> {
  for (;;) {
    const request = { ...range, limit: DELETE_BATCH_KEYS, keysOnly: true };
    const { kvs, more } = await client.retry((endpoint, call) => endpoint.kv.range(request, call), signal);
    const last = kvs.at(-1);
    if (last === undefined) return;
    const batch = { key: range.key, rangeEnd: keyAfter(decodeKeyValue(last).key) };
    await client.retry((endpoint, call) => endpoint.kv.txn({ success: [removeRange(batch)] }, call), signal);
    if (!more) return;
  }
}
