/** Converts stream messages to session events, and creates the messages to send. */
import { type BinaryReadOptions, create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { type Any, AnySchema } from '@bufbuild/protobuf/wkt';
import { Code } from '@connectrpc/connect';
import { ENVELOPE_BYTES } from '../../limits.ts';
import type { MessageKind, Open, Refusal } from '../contract.ts';
import { NONCE_CHARACTERS_MAX, REASON_CHARACTERS_MAX, RESOURCE_PARTS_MAX } from '../limits.ts';
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

/** A response whose content is not decoded yet, because bytes use less memory than objects while it is queued. */
export interface ReceivedResponse {
  readonly nonce: string;
  readonly url: string;
  readonly key: ResourceKey;
  readonly content: Uint8Array;
}

/** The session event of a received message, without its time. */
export type ReceivedEvent =
  | { readonly type: 'open-received'; readonly open: Open }
  /** `kind` is undefined for a type URL that this version does not implement. */
  | { readonly type: 'subscribe-received'; readonly kind: ResourceKind | undefined }
  | { readonly type: 'ack-received'; readonly nonce: string }
  | { readonly type: 'nack-received'; readonly nonce: string; readonly refusal: Refusal }
  | { readonly type: 'response-received'; readonly response: ReceivedResponse }
  /** A response that is rejected with a NACK before its content is decoded. */
  | { readonly type: 'bad-response-received'; readonly nonce: string; readonly url: string; readonly refusal: Refusal }
  | { readonly type: 'heartbeat-received' }
  | { readonly type: 'terminated-received' }
  /** A request or response without a usable nonce, which therefore cannot be acknowledged. */
  | { readonly type: 'invalid-message-received' }
  | { readonly type: 'unknown-received' };

/**
 * Options for decoding messages. Unknown fields are dropped, because each would become an object, and a message of the
 * maximum size, 8 MiB, can contain four million of them.
 */
export const BINARY_OPTIONS: Partial<BinaryReadOptions> = { readUnknownFields: false };

const invalid = (message: string): Refusal => ({ code: Code.InvalidArgument, message });

/** Characters that break a line or control a terminal. */
const CONTROL_CHARACTERS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Returns one line of at most REASON_CHARACTERS_MAX characters, for text that an untrusted peer may have sent. */
export const boundedLine = (text: string): string => {
  const line = text.slice(0, REASON_CHARACTERS_MAX).replaceAll(CONTROL_CHARACTERS, ' ');
  return text.length <= REASON_CHARACTERS_MAX ? line : `${line.slice(0, -1)}…`;
};

/** Converts a message to an event, without decoding its resource. Never throws. */
export function readMessage({ Payload: payload }: ReplicationMessage): ReceivedEvent {
  switch (payload.case) {
    case 'open':
      return { type: 'open-received', open: payload.value };
    case 'request': {
      const { ResponseNonce: nonce, ResourceURL: url, Error: error } = payload.value;
      if (nonce !== '' && error === undefined) return { type: 'ack-received', nonce };
      if (error === undefined) return { type: 'subscribe-received', kind: kindOfUrl(url) };
      if (nonce === '') return { type: 'invalid-message-received' };
      return { type: 'nack-received', nonce, refusal: { code: error.code, message: boundedLine(error.message) } };
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

function readResponse(response: ReplicationMessage_Response): ReceivedEvent {
  const { Nonce: nonce, ResourceURL: url, ResourceID: id, Resource: content } = response;
  // A request with an empty nonce is a subscription and cannot acknowledge a response.
  if (nonce === '' || nonce.length > NONCE_CHARACTERS_MAX) return { type: 'invalid-message-received' };
  const bad = (message: string): ReceivedEvent => ({
    type: 'bad-response-received',
    nonce,
    url: boundedLine(url),
    refusal: invalid(boundedLine(message)),
  });
  const kind = kindOfUrl(url);
  if (kind === undefined) return bad(`unknown resource type ${JSON.stringify(url)}`);
  if (response.operation !== Operation.UPSERT) return bad(`unsupported operation ${response.operation}`);
  if (content === undefined) return bad('the response has no resource');
  if (content.typeUrl !== url) return bad(`the resource is a ${JSON.stringify(content.typeUrl)}, not a ${url}`);
  const fixedId = RESOURCE_KINDS[kind].id;
  if (fixedId === undefined && id === '') return bad('the response has no resource id');
  // A kind with one resource ignores the peer's id, so that its responses are applied in order whatever ids they have.
  const key = { kind, id: fixedId ?? id };
  return { type: 'response-received', response: { nonce, url, key, content: content.value } };
}

/** Decodes the content of a response. @throws Error if it is malformed or has more than RESOURCE_PARTS_MAX parts */
export function decodeResource({ key, content }: Pick<ReceivedResponse, 'key' | 'content'>): Resource {
  const { schema } = RESOURCE_KINDS[key.kind];
  if (exceedsParts(schema, content, RESOURCE_PARTS_MAX)) {
    throw new RangeError(`it has more than ${RESOURCE_PARTS_MAX} parts`);
  }
  const message = fromBinary(schema, content, BINARY_OPTIONS);
  // RESOURCE_KINDS pairs each kind with the schema of its message.
  return { ...key, message } as Resource;
}

export const openMessage = (open: Open): ReplicationMessage =>
  create(ReplicationMessageSchema, { Payload: { case: 'open', value: open } });

export const heartbeatMessage = (): ReplicationMessage =>
  create(ReplicationMessageSchema, { Payload: { case: 'heartbeat', value: {} } });

export const terminatedMessage = (): ReplicationMessage =>
  create(ReplicationMessageSchema, { Payload: { case: 'terminated', value: {} } });

/** @param peerId the accepting side's ID of the peering; empty in the accepting side's requests */
export const subscribeMessage = (peerId: string, kind: ResourceKind): ReplicationMessage =>
  create(ReplicationMessageSchema, {
    Payload: { case: 'request', value: { PeerID: peerId, ResourceURL: RESOURCE_KINDS[kind].url } },
  });

/** The acknowledgment of a response: an ACK, or a NACK if it has a refusal. */
export interface Ack {
  readonly nonce: string;
  readonly url: string;
  readonly refusal?: Refusal | undefined;
}

export function ackMessage(peerId: string, { nonce, url, refusal }: Ack): ReplicationMessage {
  const status = refusal && create(StatusSchema, { code: refusal.code, message: boundedLine(refusal.message) });
  return create(ReplicationMessageSchema, {
    Payload: {
      case: 'request',
      value: { PeerID: peerId, ResponseNonce: nonce, ResourceURL: url, ...(status && { Error: status }) },
    },
  });
}

/**
 * Encodes the content of a resource. A deleted service (`resource` is undefined) becomes a service without instances.
 * @returns undefined if nothing is to be sent
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

/** Returns the bytes of a message on the wire. Exact without a resource, otherwise at most some hundred too high. */
export function messageBytes(message: ReplicationMessage): number {
  if (message.Payload.case !== 'response') return toBinary(ReplicationMessageSchema, message).length;
  const { Resource: content, ResourceID: id } = message.Payload.value;
  return (content?.value.length ?? 0) + 4 * id.length + ENVELOPE_BYTES;
}
