/**
 * Reads the whole state at one revision of etcd.
 *
 * Trap: a page's size in bytes cannot be asked for, only its number of rows, so each page's limit follows from the
 * rows seen before it. Pages of 5,000 rows took 42 s for a million rows, pages of 16 MiB 7 s.
 */
import { setImmediate } from 'node:timers/promises';
import { StateError } from '../../../errors.ts';
import { EPOCH_STEP, type Head, type StoredRow } from '../../engine.ts';
import type { EtcdClient } from '../client/client.ts';
import { failureKind } from '../client/failures.ts';
import type { KeyValue, RangeResponse } from '../client/gen/etcd_pb.ts';
import { decodeKeyValue, holds, put, readKey, readRange, unchangedSince } from '../client/requests.ts';
import { encodeHead, type Position, readPosition } from '../head-record.ts';
import { after, type KeyRange, type Keys, type ParsedKey } from '../keys.ts';
import { PAGE_BYTES, PAGE_ROWS_FIRST, PAGE_ROWS_MAX, PAGE_TIMEOUT_MS, SLICE_ROWS } from '../limits.ts';

/** Where a load begins: the head, and the revision at which everything is read. */
export interface Pinned {
  readonly position: Position;
  readonly revision: bigint;
}

/** What etcd keeps by lease, as it stood at the pinned revision. */
export interface Leased {
  readonly nodes: readonly [ParsedKey, KeyValue][];
  readonly turns: readonly [ParsedKey, KeyValue][];
  readonly statuses: readonly [ParsedKey, KeyValue][];
}

/**
 * Chooses the revision to read. A store that went back behind `floor`, was restored into another cluster, or holds
 * another history of the same epoch (`diverged`) is moved to a new epoch first, at an index above all that was served;
 * whichever node is first does it for all.
 */
export async function pin(
  client: EtcdClient,
  keys: Keys,
  floor: Head | undefined,
  diverged: boolean,
  id: () => string,
  signal: AbortSignal,
): Promise<Pinned> {
  for (;;) {
    const { kv, header } = await readKey(client, keys.head, signal);
    if (kv === undefined) throw new StateError('corrupt', 'the head record is gone from etcd: was the prefix removed?');
    const position = readPosition(kv);
    const etcdCluster = String(header.clusterId);
    if (!needsEpoch(position, etcdCluster, floor, diverged)) return { position, revision: header.revision };
    await moveEpoch(client, keys, position, etcdCluster, floor, id(), signal);
  }
}

function needsEpoch({ record }: Position, etcdCluster: string, floor: Head | undefined, diverged: boolean): boolean {
  if (record.etcdCluster !== etcdCluster) return true;
  if (floor === undefined) return false;
  return record.index < floor.index || record.epoch < floor.epoch || (diverged && record.epoch === floor.epoch);
}

/** Guarded by the head that was read; if another node was quicker its epoch is looked at next. */
async function moveEpoch(
  client: EtcdClient,
  keys: Keys,
  { record, text, modRevision }: Position,
  etcdCluster: string,
  floor: Head | undefined,
  by: string,
  signal: AbortSignal,
): Promise<void> {
  const epoch = Math.max(record.epoch, floor?.epoch ?? 0) + 1;
  const index = Math.max(record.index, floor?.index ?? 0) + EPOCH_STEP;
  const next = encodeHead({ ...record, epoch, index, etcdCluster, by: `epoch/${by}` });
  const transaction = {
    compare: [unchangedSince(keys.head, modRevision), holds(keys.head, text)],
    success: [put(keys.head, next)],
  };
  await client.retry((endpoint, call) => endpoint.kv.txn(transaction, call), signal);
}

/**
 * Reads everything at the pinned revision: the leased keys, and the rows, handed over in slices.
 * @returns undefined when etcd compacted the revision meanwhile: begin again
 */
export async function loadPinned(
  client: EtcdClient,
  keys: Keys,
  pinned: Pinned,
  page: (rows: readonly StoredRow[]) => Promise<void>,
  signal: AbortSignal,
): Promise<Leased | undefined> {
  const read = async (range: KeyRange): Promise<[ParsedKey, KeyValue][]> =>
    (await readRange(client, range, pinned.revision, signal)).map((kv) => [keys.parse(kv.key), kv]);
  try {
    const leased = {
      nodes: await read(keys.nodes),
      turns: await read(keys.turns),
      statuses: await read(keys.statuses),
    };
    await readRows(client, keys, pinned, page, signal);
    return leased;
  } catch (error) {
    if (failureKind(error) === 'compacted') return undefined;
    throw error;
  }
}

/** The next page is on its way while one is decoded. */
async function readRows(
  client: EtcdClient,
  keys: Keys,
  { position, revision }: Pinned,
  page: (rows: readonly StoredRow[]) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const { generation } = position.record;
  const range = keys.loaded(generation);
  const read = (key: Uint8Array, limit: number): Promise<RangeResponse> => {
    const request = { key, rangeEnd: range.rangeEnd, limit: BigInt(limit), revision };
    return client.retry((endpoint, call) => endpoint.kv.range(request, call), signal, PAGE_TIMEOUT_MS);
  };
  const readRow = keys.rowReader(generation);
  let next: Promise<RangeResponse> | undefined = read(range.key, PAGE_ROWS_FIRST);
  while (next !== undefined) {
    const { kvs, more }: RangeResponse = await next;
    const last = kvs.at(-1);
    next = more && last !== undefined ? read(after(decodeKeyValue(last).key), rowsOfNextPage(kvs)) : undefined;
    next?.catch(() => {}); // Its failure is for the turn that awaits it, not for the process.
    for (let start = 0; start < kvs.length; start += SLICE_ROWS) {
      signal.throwIfAborted();
      const slice = kvs.slice(start, start + SLICE_ROWS).map(decodeKeyValue);
      await page(slice.map((kv) => readRow(kv.key, kv.value)));
      await setImmediate();
    }
  }
}

/** As many rows as make a page of the size aimed at, by the mean of the page before. */
export function rowsOfNextPage(kvs: readonly Uint8Array[]): number {
  const bytes = kvs.reduce((sum, kv) => sum + kv.byteLength, 0);
  const mean = Math.max(1, bytes / Math.max(1, kvs.length));
  return Math.min(PAGE_ROWS_MAX, Math.max(1, Math.floor(PAGE_BYTES / mean)));
}
