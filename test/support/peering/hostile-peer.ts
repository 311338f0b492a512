/** A hostile peer with a valid secret, and a monitor of the server under attack. */
import assert from 'node:assert/strict';
import { create, toBinary } from '@bufbuild/protobuf';
import type { ReplicationMessage_Request } from '../../../src/peering/stream/wire/gen/peering/peerstream_pb.ts';
import { RESOURCE_KINDS, type ResourceKind } from '../../../src/peering/stream/wire/resources.ts';
import { until } from '../until.ts';
import { type Cluster, isActive } from './clusters.ts';
import { dialRaw, exchangeToken, type MessageFields, type RawCall, type RawDialer } from './raw-peer.ts';

/** Creates a response with a resource. @param content the encoded resource, or the fields of its message */
export function resourceResponse(
  kind: ResourceKind,
  id: string,
  content: Uint8Array | Readonly<Record<string, unknown>>,
  nonce = id,
): MessageFields {
  const { url, schema } = RESOURCE_KINDS[kind];
  const value = content instanceof Uint8Array ? content : toBinary(schema, create(schema, content));
  const Resource = { typeUrl: url, value };
  return { response: { Nonce: nonce, ResourceURL: url, ResourceID: id, Resource, operation: 1 } };
}

/** Decoding, validating and writing a resource of the maximum size takes seconds. */
const ANSWER_MS_MAX = 30_000;

/** An open stream of a hostile peer. */
export interface HostileStream extends Disposable {
  readonly call: RawCall;
  readonly dialer: RawDialer;
  /** Sends a message and waits for the ACK or NACK of its nonce. */
  sendAndAwaitAnswer(message: MessageFields, nonce: string): Promise<ReplicationMessage_Request>;
}

/** Establishes a peering with `cluster` as `name`, and opens its stream. */
export async function openHostileStream(cluster: Cluster, name: string, deaf = false): Promise<HostileStream> {
  const open = await exchangeToken(cluster.peeringAddress, await cluster.generate(name));
  const dialer = await dialRaw(cluster.peeringAddress);
  const call = dialer.call({ neverReads: deaf });
  call.send({ open });
  await cluster.untilRecord(name, isActive);
  return {
    call,
    dialer,
    async sendAndAwaitAnswer(message, nonce) {
      call.send(message);
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
      assert.ok(found, `no answer to ${nonce}: the stream ended`);
      return found;
    },
    [Symbol.dispose]: () => dialer[Symbol.dispose](),
  };
}

/** Returns the resident memory of a cluster's process in bytes. */
export async function residentBytes(cluster: Cluster): Promise<number> {
  const { text } = await cluster.request('GET', '/metrics');
  return Number(/^process_resident_memory_bytes (\S+)$/m.exec(text)?.[1]);
}

interface LogLine {
  readonly level: string;
  readonly msg: string;
}

/** Returns all complete log lines of a cluster at level info or above. */
export function logLines(cluster: Cluster): LogLine[] {
  const lines = cluster.server.log().split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as LogLine).filter(({ level }) => level !== 'debug' && level !== 'trace');
}

export interface AttackMonitor {
  /** Checks the cluster after an attack. @param linesMax the log lines that the attack may cause */
  check(linesMax: number): Promise<void>;
}

/** Allows for buffers and garbage of a burst. Without limits the attacks would need far more. */
const MEMORY_GROWTH_BYTES_MAX = 400 * 1024 * 1024;

/** Monitors a cluster during an attack: its peering with `friend`, its memory, and its log. */
export async function monitorCluster(cluster: Cluster, friend: string): Promise<AttackMonitor> {
  const [before, memory] = [await cluster.untilRecord(friend, isActive), await residentBytes(cluster)];
  const logged = logLines(cluster).length;
  return {
    async check(linesMax) {
      const now = await cluster.record(friend);
      assert.deepEqual(
        [now?.State, now?.ModifyIndex],
        ['ACTIVE', before.ModifyIndex],
        'the healthy peering is not disturbed',
      );
      const heard = now?.StreamStatus.LastHeartbeat;
      await cluster.untilRecord(friend, (later) => later?.StreamStatus.LastHeartbeat !== heard);
      assert.ok((await residentBytes(cluster)) - memory < MEMORY_GROWTH_BYTES_MAX, 'memory is bounded');
      const added = logLines(cluster).slice(logged);
      assert.deepEqual(
        added.filter(({ level }) => level === 'error' || level === 'fatal'),
        [],
      );
      assert.ok(added.length <= linesMax, `${added.length} lines: ${JSON.stringify(added.slice(0, 20))}`);
    },
  };
}
