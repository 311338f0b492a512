/**
 * Maintenance of the store, which one node runs every 60 s. Two nodes that run it at once do no harm [ETCD-80].
 *
 * - Compacts history older than `etcd.compact`. etcd does not record which revision belongs to which time, so this file
 *   does; a node that takes over the job starts to compact only after that time [ETCD-81].
 * - Deletes the writer keys of vanished incarnations that have not changed for as long as history is kept, because a
 *   writer key must outlive any doubt about its last commit [ETCD-82].
 * - Deletes the formats of nodes that have been gone for ABSENT_FORMATS_RETENTION_MS, so that a server that never returns
 *   does not keep the others from writing new row formats [ETCD-89].
 * - Deletes the rows of other generations, which failed imports left. Waits for the first commit, because an import may
 *   be in progress until then; the commit makes its guard fail [ETCD-83].
 */
import type { Clock } from '../../../clock/clock.ts';
import type { EtcdClient } from '../client/client.ts';
import { failureKind, toStateError } from '../client/failures.ts';
import type { Log } from '../client/options.ts';
import { decodeKeyValue, modRevisionEquals, readKey, readRange, remove, removeRange } from '../client/requests.ts';
import { decodePosition } from '../head-record.ts';
import { decodeUtf8, type KeyRange, type Keys, keyAfter, type ParsedKey } from '../keys.ts';
import {
  ABSENT_FORMATS_RETENTION_MS,
  DELETE_BATCH_KEYS,
  FIRST_INDEX,
  HOUSEKEEPING_INTERVAL_MS,
  WRITER_KEY_RETENTION_MS,
} from '../limits.ts';
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

/** The revision of a key of a node that is not live, and the monotonic time since which it has not changed. */
interface SeenKey {
  readonly revision: bigint;
  readonly since: number;
}

/** Creates the task. It keeps its records between runs. */
export function createHousekeeping(options: HousekeepingOptions): (signal: AbortSignal) => Promise<void> {
  const samples: RevisionSample[] = [];
  const writers = new Map<string, SeenKey>();
  const formats = new Map<string, SeenKey>();
  return async (signal) => {
    try {
      await removeKeysOfAbsentNodes(options, writers, formats, signal);
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

async function removeKeysOfAbsentNodes(
  options: HousekeepingOptions,
  writers: Map<string, SeenKey>,
  formats: Map<string, SeenKey>,
  signal: AbortSignal,
): Promise<void> {
  const { client, keys, compactMs } = options;
  const nodes = await readRange(client, keys.nodes, 0n, signal);
  const incarnations = new Set(nodes.map((kv) => parseNode(decodeUtf8(kv.value)).incarnation));
  const names = new Set(nodes.map((kv) => nameOf(keys.parse(kv.key))));
  const writersKeptMs = compactMs === 'off' ? WRITER_KEY_RETENTION_MS : compactMs;
  const isDeadWriter = (key: ParsedKey): boolean => key.kind === 'writer' && !incarnations.has(key.incarnation);
  await removeUnchanged(options, keys.writers, isDeadWriter, writers, writersKeptMs, signal);
  const isAbsent = (key: ParsedKey): boolean => key.kind === 'formats' && !names.has(key.name);
  await removeUnchanged(options, keys.formats, isAbsent, formats, ABSENT_FORMATS_RETENTION_MS, signal);
}

const nameOf = (key: ParsedKey): string | undefined => (key.kind === 'node' ? key.name : undefined);

/** Removes the keys of `range` that have fulfilled `isRemovable` and not changed for `keptMs`. */
async function removeUnchanged(
  { client, keys, clock }: HousekeepingOptions,
  range: KeyRange,
  isRemovable: (key: ParsedKey) => boolean,
  seen: Map<string, SeenKey>,
  keptMs: number,
  signal: AbortSignal,
): Promise<void> {
  const now = clock.monotonic();
  const present = new Set<string>();
  for (const { key, modRevision } of await readRange(client, range, 0n, signal)) {
    if (!isRemovable(keys.parse(key))) continue;
    const id = decodeUtf8(key);
    present.add(id);
    const before = seen.get(id);
    if (before?.revision !== modRevision) {
      seen.set(id, { revision: modRevision, since: now });
    } else if (now - before.since >= keptMs) {
      const transaction = { compare: [modRevisionEquals(key, modRevision)], success: [remove(key)] };
      await client.retry((endpoint, call) => endpoint.kv.txn(transaction, call), signal);
    }
  }
  for (const id of seen.keys()) if (!present.has(id)) seen.delete(id);
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
