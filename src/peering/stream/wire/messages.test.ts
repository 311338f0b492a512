import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { create, fromBinary, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { Code } from '@connectrpc/connect';
import { NONCE_CHARACTERS_MAX, REASON_CHARACTERS_MAX } from '../limits.ts';
import {
  ExportedServiceListSchema,
  ExportedServiceSchema,
  Operation,
  type ReplicationMessage_RequestSchema,
  type ReplicationMessage_ResponseSchema,
  ReplicationMessageSchema,
} from './gen/peering/peerstream_pb.ts';
import {
  ackMessage,
  decodeResource,
  encodeResource,
  heartbeatMessage,
  messageBytes,
  messageKind,
  readMessage,
  responseMessage,
  subscribeMessage,
  terminatedMessage,
} from './messages.ts';
import { kindOfUrl, RESOURCE_KINDS, type ResourceKind } from './resources.ts';

const LIST = { kind: 'list', id: 'exported-service-list' } as const;
const URL = RESOURCE_KINDS.list.url;

const request = (value: MessageInitShape<typeof ReplicationMessage_RequestSchema>) =>
  readMessage(create(ReplicationMessageSchema, { Payload: { case: 'request', value } }));

const response = (value: MessageInitShape<typeof ReplicationMessage_ResponseSchema>) =>
  readMessage(create(ReplicationMessageSchema, { Payload: { case: 'response', value } }));

const good = {
  Nonce: 'n1',
  ResourceURL: URL,
  ResourceID: LIST.id,
  Resource: { typeUrl: URL, value: new Uint8Array() },
  operation: Operation.UPSERT,
} as const;

describe('readMessage', () => {
  it('distinguishes subscription, ACK, and NACK by nonce and error [STREAM-36] [STREAM-40]', () => {
    assert.deepEqual(request({ ResourceURL: URL }), { type: 'subscribe-received', kind: 'list' });
    assert.deepEqual(request({ ResourceURL: 'x' }), { type: 'subscribe-received', kind: undefined });
    assert.deepEqual(request({ ResourceURL: URL, ResponseNonce: 'n' }), { type: 'ack-received', nonce: 'n' });
    assert.deepEqual(request({ ResponseNonce: 'n', Error: { code: 3, message: 'no' } }), {
      type: 'nack-received',
      nonce: 'n',
      refusal: { code: 3, message: 'no' },
    });
    assert.deepEqual(request({ Error: { code: 3 } }), { type: 'invalid-message-received' });
  });

  it('returns a response with undecoded content [STREAM-18]', () => {
    const received = response({ ...good, ResourceID: 'another id' });
    assert.ok(received.type === 'response-received');
    // The list has a fixed id, whatever id the peer sends.
    assert.deepEqual(received.response.key, LIST);
  });

  it('rejects a response before decoding its content [STREAM-42]', () => {
    const service = RESOURCE_KINDS.service.url;
    const cases: readonly (readonly [MessageInitShape<typeof ReplicationMessage_ResponseSchema>, RegExp])[] = [
      [{ ...good, ResourceURL: 'x' }, /unknown resource type "x"/],
      [{ ...good, operation: Operation.UNSPECIFIED }, /unsupported operation 0/],
      [{ Nonce: 'n1', ResourceURL: URL, operation: Operation.UPSERT }, /no resource/],
      [{ ...good, ResourceURL: service }, /the resource is a "type\.googleapis\.com.*ExportedServiceList", not a /],
      [{ ...good, ResourceURL: service, ResourceID: '', Resource: { typeUrl: service } }, /no resource id/],
    ];
    for (const [value, expected] of cases) {
      const received = response(value);
      assert.ok(received.type === 'bad-response-received');
      assert.match(received.refusal.message, expected);
      assert.deepEqual([received.nonce, received.refusal.code], ['n1', Code.InvalidArgument]);
    }
  });

  it('reports an invalid message without a usable nonce [STREAM-43]', () => {
    assert.equal(response({ ...good, Nonce: '' }).type, 'invalid-message-received');
    assert.equal(response({ ...good, Nonce: 'n'.repeat(NONCE_CHARACTERS_MAX + 1) }).type, 'invalid-message-received');
  });

  it('reports a kind from a later version as unknown [STREAM-4]', () => {
    // Field 15, an empty message.
    const later = fromBinary(ReplicationMessageSchema, new Uint8Array([0x7a, 0]));
    assert.deepEqual(readMessage(later), { type: 'unknown-received' });
    assert.equal(messageKind(later), 'unknown');
  });

  it('bounds the text of the peer in reasons [STREAM-44]', () => {
    const received = response({ ...good, ResourceURL: 'x'.repeat(1_000_000) });
    assert.ok(received.type === 'bad-response-received');
    assert.ok(received.refusal.message.length <= REASON_CHARACTERS_MAX && received.url.length <= REASON_CHARACTERS_MAX);
  });
});

describe('a created message', () => {
  it('is read back as the same event', () => {
    const wire = (message: ReturnType<typeof heartbeatMessage>) =>
      readMessage(fromBinary(ReplicationMessageSchema, toBinary(ReplicationMessageSchema, message)));
    assert.equal(wire(heartbeatMessage()).type, 'heartbeat-received');
    assert.equal(wire(terminatedMessage()).type, 'terminated-received');
    assert.deepEqual(wire(subscribeMessage('p', 'list')), { type: 'subscribe-received', kind: 'list' });
    assert.deepEqual(wire(ackMessage('p', { nonce: 'n', url: URL })), { type: 'ack-received', nonce: 'n' });
    const refusal = { code: Code.Internal, message: 'no' };
    assert.deepEqual(wire(ackMessage('p', { nonce: 'n', url: URL, refusal })), {
      type: 'nack-received',
      nonce: 'n',
      refusal,
    });
  });

  it('carries a resource that decodes to the original', () => {
    const message = create(ExportedServiceListSchema, { Services: ['web', 'db'] });
    const content = encodeResource(LIST, { ...LIST, message });
    assert.ok(content);
    const received = readMessage(responseMessage(LIST, '0000000a', content));
    assert.ok(received.type === 'response-received');
    assert.deepEqual(decodeResource(received.response), { ...LIST, message });
  });

  it('carries no instances for a deleted service and does not exist for other deleted kinds', () => {
    const content = encodeResource({ kind: 'service', id: 'web' }, undefined);
    assert.deepEqual(content && fromBinary(ExportedServiceSchema, content.value), create(ExportedServiceSchema));
    assert.equal(encodeResource(LIST, undefined), undefined);
  });

  it('is never larger than messageBytes', () => {
    const content = encodeResource(LIST, {
      ...LIST,
      message: create(ExportedServiceListSchema, { Services: ['é'.repeat(1_000)] }),
    });
    assert.ok(content);
    for (const message of [responseMessage(LIST, '0000000a', content), heartbeatMessage()]) {
      assert.ok(messageBytes(message) >= toBinary(ReplicationMessageSchema, message).length);
    }
  });
});

test('kindOfUrl accepts the type URLs of the protocol [STREAM-17]', () => {
  const prefix = 'type.googleapis.com/';
  const consul = `${prefix}hashicorp.consul.internal`;
  const urls: Readonly<Record<ResourceKind, string>> = {
    list: `${consul}.peerstream.ExportedServiceList`,
    service: `${consul}.peerstream.ExportedService`,
    roots: `${consul}.peering.PeeringTrustBundle`,
    'server-addresses': `${consul}.peering.PeeringServerAddresses`,
    digest: `${prefix}accord.peerstream.ExportDigest`,
  };
  for (const [kind, url] of Object.entries(urls)) assert.equal(kindOfUrl(url), kind);
});
