/** What a peer that has a secret can do with its stream, and what a server under attack must not do. */
import assert from 'node:assert/strict';
import { create, toBinary } from '@bufbuild/protobuf';
import type { ReplicationMessage_Request } from '../../../src/peering/stream/wire/gen/peering/peerstream_pb.ts';
import { RESOURCE_KINDS, type ResourceKind } from '../../../src/peering/stream/wire/resources.ts';
import { until } from '../until.ts';
import { type Cluster, isActive } from './clusters.ts';
import { dialRaw, type RawCall, type RawDialer, type Said, takeSecret } from './raw-peer.ts';

/** A response that carries a resource; `content` is the bytes of one, or what a message of its kind says. */
export function response(
  kind: ResourceKind,
  id: string,
  content: Uint8Array | Readonly<Record<string, unknown>>,
  nonce = id,
): Said {
  const { url, schema } = RESOURCE_KINDS[kind];
  const value = content instanceof Uint8Array ? content : toBinary(schema, create(schema, content));
  const Resource = { typeUrl: url, value };
  return { response: { Nonce: nonce, ResourceURL: url, ResourceID: id, Resource, operation: 1 } };
}

/** What is as large as it may be is decoded, looked at and written before it is answered. */
const ANSWER_MS_MAX = 30_000;

/** A live stream of a peer that was given a token. */
export interface HostileStream extends Disposable {
  readonly call: RawCall;
  readonly dialer: RawDialer;
  /** Says something, and waits for the answer to that nonce. */
  answer(message: Said, nonce: string): Promise<ReplicationMessage_Request>;
}

/** Peers with `cluster` as `name`, over a stream that is open. */
export async function openHostile(cluster: Cluster, name: string, deaf = false): Promise<HostileStream> {
  const open = await takeSecret(cluster.peeringAddress, await cluster.generate(name));
  const dialer = await dialRaw(cluster.peeringAddress);
  const call = dialer.call({ deaf });
  call.say({ open });
  await cluster.untilRecord(name, isActive);
  return {
    call,
    dialer,
    async answer(message, nonce) {
      call.say(message);
      let found: ReplicationMessage_Request | undefined;
      await until(
        `the answer to ${nonce}`,
        () => {
          for (const { Payload } of call.received) {
            if (Payload.case === 'request' && Payload.value.ResponseNonce === nonce) found = Payload.value;
          }
          return found !== undefined || call.stream.destroyed;
        },
        ANSWER_MS_MAX,
      );
      assert.ok(found, `no answer to ${nonce}: the stream has ended`);
      return found;
    },
    [Symbol.dispose]: () => dialer[Symbol.dispose](),
  };
}

/** Bytes of memory that the process of a cluster takes. */
export async function memoryOf(cluster: Cluster): Promise<number> {
  const { text } = await cluster.request('GET', '/metrics');
  return Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1]);
}

interface Line {
  readonly level: string;
  readonly msg: string;
}

/** What a process has logged since the beginning, from info on; a line of which only a part has come is left out. */
export function loggedBy(cluster: Cluster): Line[] {
  const lines = cluster.server.log().split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Line).filter(({ level }) => level !== 'debug' && level !== 'trace');
}

/** What is to be looked at when an attack is over. */
export interface Watch {
  /** @param lines that the attack may have brought into the log */
  check(lines: number): Promise<void>;
}

/** Memory may grow by this much: buffers and garbage of a burst; the attacks would take far more if they were let. */
const GROWTH_BYTES_MAX = 400 * 1024 * 1024;

/** Watches a cluster through an attack: its peering with somebody else, its memory and its log. */
export async function watch(cluster: Cluster, friend: string): Promise<Watch> {
  const [before, memory] = [await cluster.untilRecord(friend, isActive), await memoryOf(cluster)];
  const logged = loggedBy(cluster).length;
  return {
    async check(lines) {
      const now = await cluster.record(friend);
      assert.deepEqual([now?.State, now?.ModifyIndex], ['ACTIVE', before.ModifyIndex], 'the healthy peering went on');
      const heard = now?.StreamStatus.LastHeartbeat;
      await cluster.untilRecord(friend, (later) => later?.StreamStatus.LastHeartbeat !== heard);
      assert.ok((await memoryOf(cluster)) - memory < GROWTH_BYTES_MAX, 'memory stays');
      const added = loggedBy(cluster).slice(logged);
      assert.deepEqual(
        added.filter(({ level }) => level === 'error' || level === 'fatal'),
        [],
      );
      assert.ok(added.length <= lines, `${added.length} lines: ${JSON.stringify(added.slice(0, 20))}`);
    },
  };
}
