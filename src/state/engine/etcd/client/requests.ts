/** The few requests and answers that the engine is made of, in one line each where they are used. */
import { fromBinary, type MessageInitShape } from '@bufbuild/protobuf';
import { after, bytes, type KeyRange } from '../keys.ts';
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

export type Step = MessageInitShape<typeof RequestOpSchema>;
export type Condition = MessageInitShape<typeof CompareSchema>;
export type Transaction = MessageInitShape<typeof TxnRequestSchema>;

/** Rows of a page where their number is small: nodes, tickets, status rows, writer keys. */
const PAGE_ROWS = 1_000n;

/** Puts a key; a lease other than 0 takes it along when it ends. */
export function put(key: Uint8Array, value: string, lease = 0n): Step {
  return { request: { case: 'requestPut', value: { key, value: bytes(value), lease } } };
}

export function remove(key: Uint8Array): Step {
  return { request: { case: 'requestDeleteRange', value: { key } } };
}

export function removeRange(range: KeyRange): Step {
  return { request: { case: 'requestDeleteRange', value: range } };
}

export function get(key: Uint8Array): Step {
  return { request: { case: 'requestRange', value: { key } } };
}

/** The key was last changed at `revision`; 0: it does not exist. */
export function unchangedSince(key: Uint8Array, revision: bigint): Condition {
  const targetUnion = { case: 'modRevision' as const, value: revision };
  return { result: Compare_Result.EQUAL, target: Compare_Target.MOD, key, targetUnion };
}

/** The key holds exactly this value. */
export function holds(key: Uint8Array, value: string): Condition {
  const targetUnion = { case: 'value' as const, value: bytes(value) };
  return { result: Compare_Result.EQUAL, target: Compare_Target.VALUE, key, targetUnion };
}

/** The one key that step `at` of a transaction read. */
export function gotten(answer: TxnResponse, at: number): KeyValue | undefined {
  const response = answer.responses[at]?.response;
  return response?.case === 'responseRange' ? firstOf(response.value) : undefined;
}

/** What was read of one key, and the store's own state at that moment. */
export interface ReadKey {
  readonly kv: KeyValue | undefined;
  readonly header: ResponseHeader;
}

/** Reads one key, linearizable; at `revision` when it is given. */
export async function readKey(
  client: EtcdClient,
  key: Uint8Array,
  signal: AbortSignal,
  revision = 0n,
): Promise<ReadKey> {
  const answer = await client.retry((endpoint, call) => endpoint.kv.range({ key, revision }, call), signal);
  return { kv: firstOf(answer), header: headerOf(answer) };
}

/** Reads a range of few and small keys at one revision (0: the newest, page by page). */
export async function readRange(
  client: EtcdClient,
  range: KeyRange,
  revision: bigint,
  signal: AbortSignal,
): Promise<readonly KeyValue[]> {
  const found: KeyValue[] = [];
  let key = range.key;
  for (;;) {
    const request = { key, rangeEnd: range.rangeEnd, limit: PAGE_ROWS, revision };
    const answer = await client.retry((endpoint, call) => endpoint.kv.range(request, call), signal);
    for (const kv of answer.kvs) found.push(decodeKeyValue(kv));
    const last = found.at(-1);
    if (!answer.more || last === undefined) return found;
    key = after(last.key);
  }
}

/** Every answer of etcd has a header. */
export function headerOf(answer: { header?: ResponseHeader | undefined }): ResponseHeader {
  if (answer.header === undefined) throw new Error('etcd answered without a header');
  return answer.header;
}

export function decodeKeyValue(kv: Uint8Array): KeyValue {
  return fromBinary(KeyValueSchema, kv);
}

function firstOf(answer: RangeResponse): KeyValue | undefined {
  const [first] = answer.kvs;
  return first === undefined ? undefined : decodeKeyValue(first);
}
