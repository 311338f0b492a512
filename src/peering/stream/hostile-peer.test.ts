import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { list, service } from '../../../test/support/peering/scripted-peer.ts';
import { TIMES } from '../../../test/support/peering/session-fixtures.ts';
import {
  acceptOpenSession,
  receiveDescription,
  resourceResponse,
} from '../../../test/support/peering/session-harness.ts';
import { CLOSING_MS, UNAPPLIED_BYTES_MAX } from './limits.ts';
import { Operation, ReplicationMessageSchema } from './wire/gen/peering/peerstream_pb.ts';
import { heartbeatMessage, subscribeMessage } from './wire/messages.ts';

describe('a session with a slow or hostile peer', () => {
  it('reads a resource once after many changes while the peer was not reading [STREAM-47]', async () => {
    const scene = await acceptOpenSession({ resources: [service('web')] });
    scene.peer.send(subscribeMessage('p', 'service'));
    assert.equal(await receiveDescription(scene), 'response 00000001 web');
    for (let instances = 2; instances < 200; instances++) scene.source.put(service('web', instances));
    assert.equal(scene.source.reads, 1);
    assert.equal(await receiveDescription(scene), 'response 00000002 web');
    assert.equal(scene.source.reads, 2);
  });

  it('ends after the heartbeat timeout when the peer never reads [STREAM-49]', async () => {
    const { clock, peer, session } = await acceptOpenSession({ resources: [service('web')] });
    peer.send(subscribeMessage('p', 'service'));
    await peer.receive();
    for (let beats = 0; beats < 20; beats++) {
      peer.send(heartbeatMessage());
      await clock.run(TIMES.heartbeatIntervalMs);
    }
    assert.deepEqual(await session.ended, { kind: 'limit', limit: 'transport-stalled' });
    assert.equal(session.reset.aborted, true);
  });

  it('ends after silence and leaves no timer [STREAM-78]', async () => {
    const { clock, session, peer } = await acceptOpenSession();
    const taking = (async () => {
      while ((await peer.receive()) !== undefined);
    })().catch((error: unknown) => error);
    await clock.run(TIMES.heartbeatTimeoutMs);
    assert.deepEqual(await session.ended, { kind: 'timed-out', reason: 'heartbeat timeout' });
    assert.ok((await taking) instanceof ConnectError);
    await clock.run(CLOSING_MS);
    assert.equal(session.reset.aborted, true);
    assert.equal(clock.timerCount, 0);
  });

  it('pauses reading at UNAPPLIED_BYTES_MAX and resumes below it [STREAM-53]', async () => {
    const scene = await acceptOpenSession();
    const { peer, sink, clock } = scene;
    sink.isHeld = true;
    const bytes = UNAPPLIED_BYTES_MAX / 8;
    for (let number = 0; number < 12; number++) {
      peer.send(resourceResponse(service(`service-${number}`, 1, bytes), `n${number}`));
    }
    await clock.run(0);
    assert.deepEqual([sink.pending.length, peer.unread > 0], [8, true]);
    sink.isHeld = false;
    for (const { resolve } of sink.pending) resolve();
    const words = new Set<string>();
    while (words.size < 12) words.add(await receiveDescription(scene));
    assert.deepEqual([peer.unread, sink.applied.length], [0, 12]);
  });

  it('rejects a malformed resource, an unknown type, and an unknown operation, and stays open [STREAM-4] [STREAM-42]', async () => {
    const scene = await acceptOpenSession();
    const { peer } = scene;
    const garbled = resourceResponse(service('web'), 'n1');
    assert.ok(garbled.Payload.case === 'response' && garbled.Payload.value.Resource);
    garbled.Payload.value.Resource.value = new Uint8Array([255, 255, 255]);
    const unknown = resourceResponse(service('web'), 'n2');
    assert.ok(unknown.Payload.case === 'response');
    unknown.Payload.value.ResourceURL = 'type.googleapis.com/x';
    const deleting = resourceResponse(service('web'), 'n3');
    assert.ok(deleting.Payload.case === 'response');
    deleting.Payload.value.operation = Operation.UNSPECIFIED;
    for (const message of [garbled, unknown, deleting, create(ReplicationMessageSchema)]) peer.send(message);
    const words = [
      await receiveDescription(scene),
      await receiveDescription(scene),
      await receiveDescription(scene),
    ].sort();
    assert.match(words[0] ?? '', /^nack n1: the resource cannot be decoded: /);
    assert.equal(words[1], 'nack n2: unknown resource type "type.googleapis.com/x"');
    assert.equal(words[2], 'nack n3: unsupported operation 0');
    peer.send(resourceResponse(list('web'), 'n4'));
    assert.equal(await receiveDescription(scene), 'ack n4');
    assert.deepEqual(scene.session.counters, {
      nacksSent: 3,
      nacksReceived: 0,
      protocolErrors: 0,
      unknownMessages: 1,
    });
  });

  it('ends with the status of the decoder when a message cannot be decoded', async () => {
    const { peer, session } = await acceptOpenSession();
    peer.disconnect(new ConnectError('message is too large', Code.ResourceExhausted));
    await assert.rejects(peer.receive(), { code: Code.ResourceExhausted });
    assert.equal((await session.ended).kind, 'protocol-error');
  });

  it('reports a resource that is too large and sends the next [STREAM-39] [STREAM-50]', async () => {
    const scene = await acceptOpenSession({ resources: [service('huge', 1, 9 * 1024 * 1024), service('web')] });
    scene.peer.send(subscribeMessage('p', 'service'));
    assert.equal(await receiveDescription(scene), 'response 00000002 web');
    assert.deepEqual(scene.source.reports, ['huge too large: true']);
  });
});
