/** Builders for the operations and compares of a transaction, and reads of single keys and small ranges. */
import { fromBinary, type MessageInitShape } from '@bufbuild/protobuf';
import { encodeUtf8, type KeyRange, keyAfter } from '../keys.ts';
import type { EtcdClient } from './client.ts';
import {
  Compare_Result,
  Compare_Target,
  type CompareSchema,
  type KeyValue,
  KeyValueSchema,
  type RangeResponse,
  type RequestOpSchema,
  type ResponseHeader,
  type TxnRequestSchema,
  type TxnResponse,
} from './gen/etcd_pb.ts';

export type TxnOperation = MessageInitShape<typeof RequestOpSchema>;
export type TxnCompare = MessageInitShape<typeof CompareSchema>;
export type TxnRequest = MessageInitShape<typeof TxnRequestSchema>;

/** Page size for ranges of few keys: nodes, tickets, status rows, writer keys. */
const SMALL_RANGE_PAGE_ROWS = 1_000n;

/** Puts a key. With a lease other than 0, etcd deletes the key when the lease ends. */
export function put(key: Uint8Array, value: string, lease = 0n): TxnOperation {
  return { request: { case: 'requestPut', value: { key, value: encodeUtf8(value), lease } } };
}

export function remove(key: Uint8Array): TxnOperation {
  return { request: { case: 'requestDeleteRange', value: { key } } };
}

export function removeRange(range: KeyRange): TxnOperation {
  return { request: { case: 'requestDeleteRange', value: range } };
}

export function get(key: Uint8Array): TxnOperation {
  return { request: { case: 'requestRange', value: { key } } };
}

/** Compares the revision of a key's last change. 0 means that the key does not exist. */
export function modRevisionEquals(key: Uint8Array, revision: bigint): TxnCompare {
  const targetUnion = { case: 'modRevision' as const, value: revision };
  return { result: Compare_Result.EQUAL, target: Compare_Target.MOD, key, targetUnion };
}

export function valueEquals(key: Uint8Array, value: string): TxnCompare {
  const targetUnion = { case: 'value' as const, value: encodeUtf8(value) };
  return { result: Compare_Result.EQUAL, target: Compare_Target.VALUE, key, targetUnion };
}

/** Returns the key that operation `at` of a transaction read. */
export function rangeResult(answer: TxnResponse, at: number): KeyValue | undefined {
  const response = answer.responses[at]?.response;
  return response?.case === 'responseRange' ? firstKeyValue(response.value) : undefined;
}

/** A key as it was read (undefined if missing), with the response header. */
export interface KeyRead {
  readonly kv: KeyValue | undefined;
  readonly header: ResponseHeader;
}

/** Reads one key with linearizable consistency, at `revision` if it is not 0. */
export async function readKey(
  client: EtcdClient,
  key: Uint8Array,
  signal: AbortSignal,
  revision = 0n,
): Promise<KeyRead> {
  const answer = await client.retry((endpoint, call) => endpoint.kv.range({ key, revision }, call), signal);
  return { kv: firstKeyValue(answer), header: headerOf(answer) };
}

/** Reads a range of few and small keys at one revision. 0 means the newest one, anew for each page. */
export async function readRange(
  client: EtcdClient,
  range: KeyRange,
  revision: bigint,
  signal: AbortSignal,
): Promise<readonly KeyValue[]> {
  const found: KeyValue[] = [];
  let key = range.key;
  for (;;) {
    const request = { key, rangeEnd: range.rangeEnd, limit: SMALL_RANGE_PAGE_ROWS, revision };
    const answer = await client.retry((endpoint, call) => endpoint.kv.range(request, call), signal);
    for (const kv of answer.kvs) found.push(decodeKeyValue(kv));
    const last = found.at(-1);
    if (!answer.more || last === undefined) return found;
    key = keyAfter(last.key);
  }
}

/** Returns the header, which etcd sends with every response. */
export function headerOf(answer: { header?: ResponseHeader | undefined }): ResponseHeader {
  if (answer.header === undefined) throw new Error('etcd answered without a header');
  return answer.header;
}

export function decodeKeyValue(kv: Uint8Array): KeyValue {
  return fromBinary(KeyValueSchema, kv);
}

function firstKeyValue(answer: RangeResponse): KeyValue | undefined {
  const [first] = answer.kvs;
  return first === undefined ? undefined : decodeKeyValue(first);
}
