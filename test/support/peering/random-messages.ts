/** Random messages of a hostile peer: resources with random contents, mutations of their encodings, and random bytes. */
import assert from 'node:assert/strict';
import { create, type DescField, type DescMessage, ScalarType, toBinary } from '@bufbuild/protobuf';
import {
  type ReplicationMessage_Request,
  ReplicationMessageSchema,
} from '../../../src/peering/stream/wire/gen/peering/peerstream_pb.ts';
import { RESOURCE_KINDS, type ResourceKind } from '../../../src/peering/stream/wire/resources.ts';
import { KnownStrings, type RandomValues, randomValues } from '../process/random-values.ts';
import { createRandom, type Random } from '../random.ts';
import { until } from '../until.ts';
import type { Cluster } from './clusters.ts';
import { type HostileStream, openHostileStream, resourceResponse } from './hostile-peer.ts';
import { grpcFrame } from './raw-peer.ts';

/** Messages that are sent at once. After them the peer waits for the answer to a valid one. */
const BATCH = 50;
const KINDS = Object.keys(RESOURCE_KINDS) as ResourceKind[];
const SERVICES = ['web', 'db', 'api', 'cache', 'new-1', 'new-2'];
const DEPTH_MAX = 4;

/** What the messages of one run led to. */
export interface Outcome {
  accepted: number;
  refused: number;
  /** Streams that the server ended, because of a protocol error or too many of them. */
  streamsEnded: number;
}

/**
 * Sends `count` random messages to `cluster`, in the streams of one peering after the other.
 * @throws AssertionError if the server imports a service whose every message it refused
 */
export async function sendRandomMessages(cluster: Cluster, seed: number, count: number): Promise<Outcome> {
  const messages = randomMessages(createRandom(seed));
  const outcome: Outcome = { accepted: 0, refused: 0, streamsEnded: 0 };
  for (let sent = 0, peers = 0; sent < count; peers += 1) {
    const name = `random-${seed}-${peers}`;
    using stream = await openHostileStream(cluster, name);
    const imports = new Set<string>();
    while (sent < count && !stream.call.stream.destroyed) {
      const batch = new Map(Array.from({ length: BATCH }, (_, i) => [`n${sent + i}`, messages.next(`n${sent + i}`)]));
      stream.call.write(Buffer.concat([...batch.values()].map(({ frame }) => frame)));
      sent += BATCH;
      for (const { ResponseNonce, Error: refusal } of await answers(stream, `end${sent}`)) {
        outcome[refusal === undefined ? 'accepted' : 'refused'] += 1;
        if (refusal !== undefined) batch.delete(ResponseNonce);
      }
      // A message without an answer may have been accepted before the stream ended.
      for (const { service } of batch.values()) imports.add(service);
    }
    if (stream.call.stream.destroyed) outcome.streamsEnded += 1;
    await assertImportsAmong(cluster, name, imports);
    await cluster.request('DELETE', `/v1/peering/${name}`);
  }
  return outcome;
}

/** Waits until the server has answered everything sent or ended the stream. Returns the answers and forgets them. */
async function answers(stream: HostileStream, nonce: string): Promise<readonly ReplicationMessage_Request[]> {
  const { received, send } = stream.call;
  send(resourceResponse('list', RESOURCE_KINDS.list.id ?? '', { Services: SERVICES }, nonce));
  const all = (): ReplicationMessage_Request[] =>
    received.flatMap(({ Payload }) => (Payload.case === 'request' ? [Payload.value] : []));
  await until(
    `the answer to ${nonce}`,
    () => stream.call.stream.destroyed || all().some(({ ResponseNonce }) => ResponseNonce === nonce),
  );
  const result = all();
  received.length = 0;
  return result.filter(({ ResponseNonce }) => ResponseNonce !== '' && ResponseNonce !== nonce);
}

async function assertImportsAmong(cluster: Cluster, peer: string, allowed: ReadonlySet<string>): Promise<void> {
  const { status, text } = await cluster.request('GET', `/v1/catalog/services?peer=${peer}`);
  if (status === 404 || allowed.has(ANY)) return;
  assert.equal(status, 200, text);
  const refused = Object.keys(JSON.parse(text) as object).filter((service) => !allowed.has(service));
  assert.deepEqual(refused, [], `${peer}: services that were never accepted`);
}

/** The service of a message that has changed as bytes and may contain any resource. */
const ANY = '(any)';
const NONE = '(none)';

interface RandomMessage {
  readonly frame: Buffer;
  /** The service whose instances the message contains, `ANY`, or `NONE`. */
  readonly service: string;
}

function randomMessages(random: Random): { next(nonce: string): RandomMessage } {
  const values = randomValues(random, { known: new KnownStrings() });

  const message = (fields: object): Uint8Array => {
    const [kind, value] = Object.entries(fields)[0] ?? [];
    const Payload = { case: kind, value } as never;
    return toBinary(ReplicationMessageSchema, create(ReplicationMessageSchema, { Payload }));
  };

  function resource(nonce: string): RandomMessage {
    const kind = random.chance(0.7) ? 'service' : random.pick(KINDS);
    const { schema, id } = RESOURCE_KINDS[kind];
    const name = random.chance(0.9) ? random.pick(SERVICES) : values.unusualText().toWellFormed();
    const content = toBinary(schema, create(schema, randomFields(schema, random, values, name)));
    const bytes = random.chance(0.1) ? values.mutatedBytes(Buffer.from(content)) : content;
    const frame = grpcFrame(message(resourceResponse(kind, id ?? name, bytes, nonce)));
    return { frame, service: kind === 'service' ? name : NONE };
  }

  function subscription(nonce: string): RandomMessage {
    const ResourceURL = RESOURCE_KINDS[random.pick(KINDS)].url;
    return { frame: grpcFrame(message({ request: { ResourceURL, ResponseNonce: nonce } })), service: NONE };
  }

  function anything(): RandomMessage {
    const fields = create(ReplicationMessageSchema, randomFields(ReplicationMessageSchema, random, values));
    return { frame: grpcFrame(toBinary(ReplicationMessageSchema, fields)), service: ANY };
  }

  return {
    next(nonce) {
      const kind = random.below(1_000);
      if (kind < 50) return { frame: grpcFrame(message({ heartbeat: {} })), service: NONE };
      if (kind < 150) return subscription(random.chance(0.5) ? '' : nonce);
      if (kind < 152) return anything();
      if (kind < 154) return { frame: values.mutatedBytes(resource(nonce).frame), service: ANY };
      if (kind < 164) {
        const { frame } = resource(nonce);
        return { frame: grpcFrame(values.mutatedBytes(frame.subarray(5))), service: ANY };
      }
      return resource(nonce);
    },
  };
}

/** Fills most of the fields of a message. `service` is the value of fields that are likely to name the service. */
function randomFields(
  schema: DescMessage,
  random: Random,
  values: RandomValues,
  service = 'web',
  depth = 0,
): Record<string, unknown> {
  // The encoder refuses unpaired surrogates.
  const text = (name: string): string => values.text(name).toWellFormed();

  const scalar = (type: ScalarType, name: string): unknown => {
    if (type === ScalarType.BOOL) return random.chance(0.5);
    if (type === ScalarType.BYTES) return Buffer.from(values.text(name));
    if (type === ScalarType.STRING) return name === 'Service' && random.chance(0.9) ? service : text(name);
    if (type === ScalarType.DOUBLE || type === ScalarType.FLOAT) return random.next();
    const is64 = [ScalarType.INT64, ScalarType.UINT64, ScalarType.SINT64].includes(type);
    const number = random.pick([0, 1, 8_080, 65_536, 2 ** 31 - 1]);
    return is64 ? BigInt(number) : number;
  };

  const single = (field: DescField): unknown => {
    if (field.fieldKind === 'message') return randomFields(field.message, random, values, service, depth + 1);
    if (field.fieldKind === 'enum') return random.below(4);
    return scalar(field.scalar ?? ScalarType.STRING, field.localName);
  };

  const element = (field: DescField & { fieldKind: 'list' | 'map' }): unknown => {
    const kind = field.fieldKind === 'list' ? field.listKind : field.mapKind;
    if (kind === 'message') return randomFields(field.message as DescMessage, random, values, service, depth + 1);
    return kind === 'enum' ? random.below(4) : scalar(field.scalar as ScalarType, field.localName);
  };

  const fields: Record<string, unknown> = {};
  for (const field of schema.fields) {
    if (random.chance(depth === 0 ? 0.05 : 0.4) || depth > DEPTH_MAX) continue;
    const several = Array.from({ length: random.below(4) });
    if (field.oneof !== undefined) fields[field.oneof.localName] = { case: field.localName, value: single(field) };
    else if (field.fieldKind === 'list') fields[field.localName] = several.map(() => element(field));
    else if (field.fieldKind === 'map')
      fields[field.localName] = Object.fromEntries(several.map(() => [text('key'), element(field)]));
    else fields[field.localName] = single(field);
  }
  return fields;
}
