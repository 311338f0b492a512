/**
 * Reads the whole state at one revision of etcd [ETCD-56].
 *
 * etcd limits a page by rows and not by bytes, so the row limit of each page follows from the mean row size of the
 * previous one [ETCD-57]. A million rows took 42 s in pages of 5,000 rows, and 7 s in pages of 16 MiB.
 */
import { setImmediate } from 'node:timers/promises';
import { StateError } from '../../../errors.ts';
import { SLICE_ROWS } from '../../../limits.ts';
import { EPOCH_STEP, type Head, type StoredRow, type TableFormats } from '../../engine.ts';
import type { EtcdClient } from '../client/client.ts';
import { failureKind } from '../client/failures.ts';
import type { KeyValue, RangeResponse } from '../client/gen/etcd_pb.ts';
import { decodeKeyValue, modRevisionEquals, put, readKey, readRange, valueEquals } from '../client/requests.ts';
import { checkRowFormats, decodePosition, encodeHead, type Position } from '../head-record.ts';
import { type KeyRange, type Keys, keyAfter, type ParsedKey } from '../keys.ts';
import { PAGE_BYTES, PAGE_ROWS_FIRST, PAGE_ROWS_MAX, PAGE_TIMEOUT_MS } from '../limits.ts';

/** The head at the start of a load, and the revision at which the load reads everything. */
export interface PinnedRevision {
  readonly position: Position;
  readonly revision: bigint;
}

/** The keys of the nodes, apart from writer keys. */
export interface NodeKeys {
  readonly nodes: readonly [ParsedKey, KeyValue][];
  readonly formats: readonly [ParsedKey, KeyValue][];
  readonly tickets: readonly [ParsedKey, KeyValue][];
  readonly statuses: readonly [ParsedKey, KeyValue][];
}

/**
 * Chooses the revision that a load reads. First moves the store to a new epoch if it is older than `floor`, was
 * restored into another etcd cluster, or contains another history of the same epoch (`diverged`) [ETCD-58].
 */
export async function pinRevision(
  client: EtcdClient,
  keys: Keys,
  formats: TableFormats,
  floor: Head | undefined,
  diverged: boolean,
  id: () => string,
  signal: AbortSignal,
): Promise<PinnedRevision> {
  for (;;) {
    const { kv, header } = await readKey(client, keys.head, signal);
    if (kv === undefined) throw new StateError('corrupt', 'the head record is gone from etcd: was the prefix removed?');
    const position = decodePosition(kv);
    checkRowFormats(position.record, formats);
    const etcdCluster = String(header.clusterId);
    if (!needsNewEpoch(position, etcdCluster, floor, diverged)) return { position, revision: header.revision };
    await startEpoch(client, keys, position, etcdCluster, floor, id(), signal);
  }
}

function needsNewEpoch({ record }: Position, etcdCluster: string, floor: Head | undefined, diverged: boolean): boolean {
  if (record.etcdCluster !== etcdCluster) return true;
  if (floor === undefined) return false;
  return record.index < floor.index || record.epoch < floor.epoch || (diverged && record.epoch === floor.epoch);
}

/** Tries once to start a new epoch, guarded by the head that was read. If another node wins, the caller reads again. */
async function startEpoch(
  client: EtcdClient,
  keys: Keys,
  { record, encoded, modRevision }: Position,
  etcdCluster: string,
  floor: Head | undefined,
  by: string,
  signal: AbortSignal,
): Promise<void> {
  const epoch = Math.max(record.epoch, floor?.epoch ?? 0) + 1;
  const index = Math.max(record.index, floor?.index ?? 0) + EPOCH_STEP;
  const next = encodeHead({ ...record, epoch, index, etcdCluster, by: `epoch/${by}` });
  const transaction = {
    compare: [modRevisionEquals(keys.head, modRevision), valueEquals(keys.head, encoded)],
    success: [put(keys.head, next)],
  };
  await client.retry((endpoint, call) => endpoint.kv.txn(transaction, call), signal);
}

/** Reads the keys of the nodes, then passes the rows to `page`. @returns undefined if etcd compacted the revision */
export async function loadAtRevision(
  client: EtcdClient,
  keys: Keys,
  pinned: PinnedRevision,
  page: (rows: readonly StoredRow[]) => Promise<void>,
  signal: AbortSignal,
): Promise<NodeKeys | undefined> {
  const read = async (range: KeyRange): Promise<[ParsedKey, KeyValue][]> =>
    (await readRange(client, range, pinned.revision, signal)).map((kv) => [keys.parse(kv.key), kv]);
  try {
    const nodeKeys: NodeKeys = {
      nodes: await read(keys.nodes),
      formats: await read(keys.formats),
      tickets: await read(keys.tickets),
      statuses: await read(keys.statuses),
    };
    await readRows(client, keys, pinned, page, signal);
    return nodeKeys;
  } catch (error) {
    if (failureKind(error) === 'compacted') return undefined;
    throw error;
  }
}

/** Reads the rows in pages, and requests the next page while it decodes the current one. */
async function readRows(
  client: EtcdClient,
  keys: Keys,
  { position, revision }: PinnedRevision,
  page: (rows: readonly StoredRow[]) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const { generation } = position.record;
  const range = keys.loadedRows(generation);
  const read = (key: Uint8Array, limit: number): Promise<RangeResponse> => {
    const request = { key, rangeEnd: range.rangeEnd, limit: BigInt(limit), revision };
    return client.retry((endpoint, call) => endpoint.kv.range(request, call), signal, PAGE_TIMEOUT_MS);
  };
  const decodeRow = keys.rowDecoder(generation);
  let next: Promise<RangeResponse> | undefined = read(range.key, PAGE_ROWS_FIRST);
  while (next !== undefined) {
    const { kvs, more }: RangeResponse = await next;
    const last = kvs.at(-1);
    next = more && last !== undefined ? read(keyAfter(decodeKeyValue(last).key), nextPageRows(kvs)) : undefined;
    next?.catch(() => {}); // The next iteration handles a failure; until then it must not be unhandled.
    for (let start = 0; start < kvs.length; start += SLICE_ROWS) {
      signal.throwIfAborted();
      const slice = kvs.slice(start, start + SLICE_ROWS).map(decodeKeyValue);
      await page(slice.map((kv) => decodeRow(kv.key, kv.value)));
      await setImmediate();
    }
  }
}

/** Returns the row limit for a page of the target size, from the mean row size of the previous page. */
export function nextPageRows(kvs: readonly Uint8Array[]): number {
  const bytes = kvs.reduce((sum, kv) => sum + kv.byteLength, 0);
  const mean = Math.max(1, bytes / Math.max(1, kvs.length));
  return Math.min(PAGE_ROWS_MAX, Math.max(1, Math.floor(PAGE_BYTES / mean)));
}
