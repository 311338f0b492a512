/**
 * Builds random messages of a peer. About half are valid and deliver services, lists, roots, addresses and digests; most
 * others are such messages with one change, in a field, in the envelope, or in the order; the rest is random.
 */
import { create, type DescField, type DescMessage, fromBinary, ScalarType, toBinary } from '@bufbuild/protobuf';
import { encodeInstances } from '../../../src/peering/export/instance-to-wire.ts';
import {
  ExportedServiceSchema,
  ReplicationMessageSchema,
} from '../../../src/peering/stream/wire/gen/peering/peerstream_pb.ts';
import { RESOURCE_KINDS, type ResourceKind } from '../../../src/peering/stream/wire/resources.ts';
import { KnownStrings, type RandomValues, randomValues } from '../process/random-values.ts';
import type { Random } from '../random.ts';
import { importedInstance } from './catalog-requests.ts';
import { resourceResponse } from './hostile-peer.ts';
import { encodeMessage, grpcFrame, type MessageFields } from './raw-peer.ts';

export const SERVICES = ['web', 'db', 'api', 'cache', 'new-1', 'new-2'];
const KINDS = Object.keys(RESOURCE_KINDS) as ResourceKind[];
const DEPTH_MAX = 4;
/** Longer than any limit on a text, and below the largest message. */
const HUGE_CHARACTERS = 200_000;

export interface RandomMessage {
  readonly frame: Buffer;
  /** The service whose instances the message may contain, `ANY`, or `NONE`. */
  readonly service: string;
  /** The number of instances of a valid service. Undefined for every other message. */
  readonly instances?: number;
}

/** The service of a message that may contain any resource, or end the stream. */
export const ANY = '(any)';
export const NONE = '(none)';

export interface RandomMessages {
  /** @param nonce the nonce of the message, so that its answer can be recognized */
  next(nonce: string): RandomMessage;
}

/** @param root a CA certificate, in PEM */
export function randomMessages(random: Random, root: string): RandomMessages {
  const values = randomValues(random, { known: new KnownStrings() });
  /** Messages of this run, to be sent again later. */
  const sent: RandomMessage[] = [];

  const validContents: Readonly<Record<ResourceKind, () => Record<string, unknown>>> = {
    list: () => ({ Services: [...SERVICES] }),
    service: () => ({}),
    roots: () => ({ TrustDomain: 'random.accord', RootPEMs: [root] }),
    'server-addresses': () => ({
      Addresses: random.chance(0.5) ? ['10.0.0.1:8503'] : ['10.0.0.1:8503', 'b.example:1'],
    }),
    digest: () => ({ services: SERVICES.map((name) => ({ name, hash: Buffer.alloc(32) })), index: 5n, clockMs: 1n }),
  };

  /** Returns the encoded instances of a service, with at most three of them. */
  function instancesOf(name: string, count: number): Uint8Array {
    const status = random.pick(['passing', 'warning', 'critical']);
    const tags = random.chance(0.5) ? ['v1'] : [];
    return encodeInstances(Array.from({ length: count }, (_, i) => importedInstance(name, `n${i}`, status, tags)));
  }

  function validResource(nonce: string): RandomMessage {
    if (random.chance(0.8)) {
      const [service, instances] = [random.pick(SERVICES), random.below(4)];
      const message = resourceResponse('service', service, instancesOf(service, instances), nonce);
      return { frame: encodeMessage(message), service, instances };
    }
    const kind = random.pick(KINDS.filter((one) => one !== 'service'));
    const { schema, id = '' } = RESOURCE_KINDS[kind];
    const content = toBinary(schema, create(schema, validContents[kind]()));
    return { frame: encodeMessage(resourceResponse(kind, id, content, nonce)), service: NONE };
  }

  /** A valid resource with one change in its content. */
  function changedResource(nonce: string): RandomMessage {
    const kind = random.chance(0.7) ? 'service' : random.pick(KINDS);
    const { schema, id } = RESOURCE_KINDS[kind];
    const name = id ?? random.pick(SERVICES);
    const content =
      kind === 'service'
        ? fromBinary(ExportedServiceSchema, instancesOf(name, 1 + random.below(2)))
        : create(schema, validContents[kind]());
    changeField(content as unknown as Record<string, unknown>, schema, random, values);
    let bytes: Uint8Array;
    try {
      bytes = toBinary(schema, content);
    } catch {
      // A change that the encoder refuses.
      return validResource(nonce);
    }
    const encoded = random.chance(0.1) ? values.mutatedBytes(Buffer.from(bytes)) : bytes;
    return {
      frame: encodeMessage(resourceResponse(kind, name, encoded, nonce)),
      service: id === undefined ? name : NONE,
    };
  }

  /** A resource with random fields. */
  function randomResource(nonce: string): RandomMessage {
    const kind = random.chance(0.7) ? 'service' : random.pick(KINDS);
    const { schema, id } = RESOURCE_KINDS[kind];
    const name = random.chance(0.9) ? random.pick(SERVICES) : values.unusualText().toWellFormed();
    const content = toBinary(schema, create(schema, randomFields(schema, random, values, name)));
    const bytes = random.chance(0.1) ? values.mutatedBytes(Buffer.from(content)) : content;
    const frame = encodeMessage(resourceResponse(kind, id ?? name, bytes, nonce));
    return { frame, service: kind === 'service' ? name : NONE };
  }

  /** A service in an envelope with one change. Each is refused, or counts as one protocol error. */
  function changedEnvelope(nonce: string): RandomMessage {
    const service = random.pick(SERVICES);
    const { response = {} } = resourceResponse('service', service, instancesOf(service, 1), nonce);
    const other = RESOURCE_KINDS[random.pick(KINDS)].url;
    const change = random.pick([
      { ResourceURL: other },
      { ResourceURL: 'type.googleapis.com/no.such.Thing' },
      { ResourceID: random.pick(['', '*', 'x'.repeat(300), 'consul', 'WEB']) },
      { operation: random.pick([0, 2, 3, 99]) },
      { Resource: undefined },
      { Resource: { typeUrl: other, value: Buffer.alloc(3) } },
      { Nonce: random.pick(['', 'x'.repeat(65), `n${random.below(50)}`]) },
    ]);
    const frame = encodeMessage({ response: { ...response, ...change } });
    return { frame, service: change.ResourceID ?? service };
  }

  /** A subscription, or an answer to something that the server sent or did not send. */
  function request(nonce: string): RandomMessage {
    const isSubscription = random.chance(0.6);
    const fields = {
      ResourceURL: random.chance(0.97) ? RESOURCE_KINDS[random.pick(KINDS)].url : 'type.googleapis.com/no.such.Thing',
      ResponseNonce: isSubscription ? '' : random.pick([nonce, '1', '2', '3', 'x'.repeat(70)]),
      ...(random.chance(0.3) && { Error: { Code: random.below(20), Message: values.unusualText().toWellFormed() } }),
      ...(random.chance(0.1) && { PeerID: values.unusualText().toWellFormed() }),
    };
    return { frame: encodeMessage({ request: fields }), service: NONE };
  }

  function anything(): RandomMessage {
    const fields = create(ReplicationMessageSchema, randomFields(ReplicationMessageSchema, random, values));
    return { frame: grpcFrame(toBinary(ReplicationMessageSchema, fields)), service: ANY };
  }

  function huge(nonce: string): RandomMessage {
    const instance = importedInstance('web', 'n0', 'passing', ['x'.repeat(HUGE_CHARACTERS)]);
    const message = resourceResponse('service', 'web', encodeInstances([instance]), nonce);
    return { frame: encodeMessage(message), service: 'web' };
  }

  const heartbeat: MessageFields = { heartbeat: {} };

  /** How many of 10,000 messages each kind has. */
  const kinds: readonly (readonly [share: number, make: (nonce: string) => RandomMessage])[] = [
    [4_500, validResource],
    [3_410, changedResource],
    [1_000, randomResource],
    [400, () => ({ frame: encodeMessage(heartbeat), service: NONE })],
    [300, (nonce) => (sent.length > 0 ? random.pick(sent) : validResource(nonce))],
    [250, request],
    [100, changedEnvelope],
    [5, (nonce) => ({ frame: values.mutatedBytes(validResource(nonce).frame), service: ANY })],
    [
      20,
      (nonce) => ({ frame: grpcFrame(values.mutatedBytes(changedResource(nonce).frame.subarray(5))), service: ANY }),
    ],
    [5, huge],
    [10, anything],
  ];

  function message(nonce: string): RandomMessage {
    let left = random.below(kinds.reduce((sum, [share]) => sum + share, 0));
    for (const [share, make] of kinds) {
      if (left < share) return make(nonce);
      left -= share;
    }
    return validResource(nonce);
  }

  return {
    next(nonce) {
      const { instances, ...rest } = message(nonce);
      if (random.chance(0.1)) {
        sent.push(rest);
        if (sent.length > 100) sent.shift();
      }
      return instances === undefined ? rest : { ...rest, instances };
    },
  };
}

/** Changes one field somewhere in a message. */
function changeField(
  message: Record<string, unknown>,
  schema: DescMessage,
  random: Random,
  values: RandomValues,
): void {
  const filled = schema.fields.filter(({ localName }) => hasContent(message[localName]));
  const field = filled.length > 0 && random.chance(0.85) ? random.pick(filled) : random.pick(schema.fields);
  const name = field.localName;
  const value = message[name];
  if (field.fieldKind === 'message' && hasContent(value) && random.chance(0.85)) {
    changeField(value as Record<string, unknown>, field.message, random, values);
  } else if (field.fieldKind === 'list' && Array.isArray(value) && value.length > 0) {
    changeList(value as unknown[], field, random, values);
  } else {
    const others = create(schema, randomFields(schema, random, values));
    if (field.oneof === undefined) message[name] = others[name as never];
  }
}

function changeList(
  list: unknown[],
  field: DescField & { fieldKind: 'list' },
  random: Random,
  values: RandomValues,
): void {
  const at = random.below(list.length);
  const change = random.below(10);
  if (change === 0) list.splice(at, 1);
  else if (change === 1) list.push(list[at]);
  else if (change === 2) list.push(...Array.from({ length: random.below(300) }, () => list[at]));
  else if (field.listKind === 'message')
    changeField(list[at] as Record<string, unknown>, field.message, random, values);
  else if (typeof list[at] === 'string') list[at] = values.unusualText().toWellFormed();
  else list.splice(at, 1);
}

const hasContent = (value: unknown): boolean =>
  value !== undefined &&
  value !== '' &&
  value !== 0 &&
  value !== false &&
  !(Array.isArray(value) && value.length === 0);

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
