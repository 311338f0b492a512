/** The messages of the stream: what a received one means, and those that carry no resource. */
import { type BinaryReadOptions, create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { type Any, AnySchema } from '@bufbuild/protobuf/wkt';
import { Code } from '@connectrpc/connect';
import type { MessageKind, Open, Refusal } from '../contract.ts';
import { ENVELOPE_BYTES, NONCE_CHARACTERS_MAX, REASON_CHARACTERS_MAX, RESOURCE_PARTS_MAX } from '../limits.ts';
import { exceedsParts } from './decoded-size.ts';
import {
  ExportedServiceSchema,
  Operation,
  type ReplicationMessage,
  type ReplicationMessage_Response,
  ReplicationMessageSchema,
} from './gen/peering/peerstream_pb.ts';
import { StatusSchema } from './gen/peering/status_pb.ts';
import {
  type EncodedResource,
  kindOfUrl,
  RESOURCE_KINDS,
  type Resource,
  type ResourceKey,
  type ResourceKind,
} from './resources.ts';

/** A response whose content is still to be decoded: bytes wait in less memory than objects. */
export interface ReceivedResponse {
  readonly nonce: string;
  readonly url: string;
  readonly key: ResourceKey;
  readonly content: Uint8Array;
}

/** What a received message means. */
export type Received =
  | { readonly type: 'open-received'; readonly open: Open }
  /** `kind` is undefined for a URL that this version does not know. */
  | { readonly type: 'subscribe-received'; readonly kind: ResourceKind | undefined }
  | { readonly type: 'ack-received'; readonly nonce: string }
  | { readonly type: 'nack-received'; readonly nonce: string; readonly refusal: Refusal }
  | { readonly type: 'response-received'; readonly response: ReceivedResponse }
  /** A response that cannot be applied whatever it contains: it is answered by a NACK. */
  | { readonly type: 'bad-response-received'; readonly nonce: string; readonly url: string; readonly refusal: Refusal }
  | { readonly type: 'heartbeat-received' }
  | { readonly type: 'terminated-received' }
  /** A request or response that cannot even be answered. */
  | { readonly type: 'nonsense-received' }
  | { readonly type: 'unknown-received' };

/**
 * How messages are decoded. Unknown fields are skipped and not kept: kept, each is an object, and eight megabytes hold
 * four million of them.
 */
export const BINARY_OPTIONS: Partial<BinaryReadOptions> = { readUnknownFields: false };

const invalid = (message: string): Refusal => ({ code: Code.InvalidArgument, message });

/** What would break a line, or tell a terminal to do something. */
const CONTROLS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** `text` as far as it is repeated to others, on one line: it may be what a peer has made up. */
export const bounded = (text: string): string => {
  const line = text.slice(0, REASON_CHARACTERS_MAX).replaceAll(CONTROLS, ' ');
  return text.length <= REASON_CHARACTERS_MAX ? line : `${line.slice(0, -1)}…`;
};

/** Takes a message apart without decoding the resource in it. Never throws. */
export function readMessage({ Payload: payload }: ReplicationMessage): Received {
  switch (payload.case) {
    case 'open':
      return { type: 'open-received', open: payload.value };
    case 'request': {
      const { ResponseNonce: nonce, ResourceURL: url, Error: error } = payload.value;
      if (nonce !== '' && error === undefined) return { type: 'ack-received', nonce };
      if (error === undefined) return { type: 'subscribe-received', kind: kindOfUrl(url) };
      if (nonce === '') return { type: 'nonsense-received' };
      return { type: 'nack-received', nonce, refusal: { code: error.code, message: bounded(error.message) } };
    }
    case 'response':
      return readResponse(payload.value);
    case 'heartbeat':
      return { type: 'heartbeat-received' };
    case 'terminated':
      return { type: 'terminated-received' };
    case undefined:
      return { type: 'unknown-received' };
  }
}

function readResponse(response: ReplicationMessage_Response): Received {
  const { Nonce: nonce, ResourceURL: url, ResourceID: id, Resource: content } = response;
  // An answer with an empty nonce would be a subscription.
  if (nonce === '' || nonce.length > NONCE_CHARACTERS_MAX) return { type: 'nonsense-received' };
  const bad = (message: string): Received => ({
    type: 'bad-response-received',
    nonce,
    url: bounded(url),
    refusal: invalid(bounded(message)),
  });
  const kind = kindOfUrl(url);
  if (kind === undefined) return bad(`unknown resource type ${JSON.stringify(url)}`);
  if (response.operation !== Operation.UPSERT) return bad(`unsupported operation ${response.operation}`);
  if (content === undefined) return bad('the response has no resource');
  if (content.typeUrl !== url) return bad(`the resource is a ${JSON.stringify(content.typeUrl)}, not a ${url}`);
  const fixedId = RESOURCE_KINDS[kind].id;
  if (fixedId === undefined && id === '') return bad('the response has no resource id');
  // Where there is one resource of a kind, its kind names it: whatever id the peer uses, they are applied in order.
  const key = { kind, id: fixedId ?? id };
  return { type: 'response-received', response: { nonce, url, key, content: content.value } };
}

/** Decodes what a response brought. @throws Error when it is not a message of its kind, or too much of one */
export function decodeResource({ key, content }: Pick<ReceivedResponse, 'key' | 'content'>): Resource {
  const { schema } = RESOURCE_KINDS[key.kind];
  if (exceedsParts(schema, content, RESOURCE_PARTS_MAX)) {
    throw new RangeError(`it has more than ${RESOURCE_PARTS_MAX} parts`);
  }
  const message = fromBinary(schema, content, BINARY_OPTIONS);
  // The table of kinds pairs each kind with the schema of its message.
  return { ...key, message } as Resource;
}

const control = (payload: ReplicationMessage['Payload']): ReplicationMessage =>
  create(ReplicationMessageSchema, { Payload: payload });

export const openMessage = (open: Open): ReplicationMessage => control({ case: 'open', value: open });

export const heartbeatMessage = (): ReplicationMessage =>
  create(ReplicationMessageSchema, { Payload: { case: 'heartbeat', value: {} } });

export const terminatedMessage = (): ReplicationMessage =>
  create(ReplicationMessageSchema, { Payload: { case: 'terminated', value: {} } });

/** @param peerId the accepting side's ID of the peering, on the dialing side; empty on the accepting side */
export const subscribeMessage = (peerId: string, kind: ResourceKind): ReplicationMessage =>
  create(ReplicationMessageSchema, {
    Payload: { case: 'request', value: { PeerID: peerId, ResourceURL: RESOURCE_KINDS[kind].url } },
  });

/** The answer to a response: applied, or refused for a reason. */
export interface Answer {
  readonly nonce: string;
  readonly url: string;
  readonly refusal?: Refusal | undefined;
}

export function answerMessage(peerId: string, { nonce, url, refusal }: Answer): ReplicationMessage {
  const status = refusal && create(StatusSchema, { code: refusal.code, message: bounded(refusal.message) });
  return create(ReplicationMessageSchema, {
    Payload: {
      case: 'request',
      value: { PeerID: peerId, ResponseNonce: nonce, ResourceURL: url, ...(status && { Error: status }) },
    },
  });
}

/**
 * The content of a resource as it travels; a service that is gone (`undefined`) is one without instances. Undefined: there
 * is nothing to send.
 */
export function encodeResource(
  key: ResourceKey,
  resource: Resource | EncodedResource | 'unchanged' | undefined,
): Any | undefined {
  if (resource === 'unchanged') return undefined;
  if (resource === undefined && key.kind !== 'service') return undefined;
  const { url, schema } = RESOURCE_KINDS[key.kind];
  const value =
    resource !== undefined && 'encoded' in resource
      ? resource.encoded
      : toBinary(schema, resource?.message ?? create(ExportedServiceSchema));
  return create(AnySchema, { typeUrl: url, value });
}

export const responseMessage = (key: ResourceKey, nonce: string, content: Any): ReplicationMessage =>
  create(ReplicationMessageSchema, {
    Payload: {
      case: 'response',
      value: {
        Nonce: nonce,
        ResourceURL: RESOURCE_KINDS[key.kind].url,
        ResourceID: key.id,
        Resource: content,
        operation: Operation.UPSERT,
      },
    },
  });

export function messageKind({ Payload: payload }: ReplicationMessage): MessageKind {
  return payload.case ?? 'unknown';
}

/** Bytes of a message on the wire: exact for those without a resource, else at most some hundred too many. */
export function messageBytes(message: ReplicationMessage): number {
  if (message.Payload.case !== 'response') return toBinary(ReplicationMessageSchema, message).length;
  const { Resource: content, ResourceID: id } = message.Payload.value;
  return (content?.value.length ?? 0) + 4 * id.length + ENVELOPE_BYTES;
}
