import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { createFakeClock } from '../../../../test/support/fake-clock.ts';
import { attachPeer, list, service } from '../../../../test/support/peering/scripted-peer.ts';
import { OPEN, TIMES } from '../../../../test/support/peering/session-fixtures.ts';
import {
  acceptOpenSession,
  acceptSession,
  describeMessage,
  dialSession,
  receiveDescription,
  resourceResponse,
} from '../../../../test/support/peering/session-harness.ts';
import { ApplyRefused, type Authorization, SessionSuperseded } from '../contract.ts';
import { CLOSING_MS } from '../limits.ts';
import { LeaderAddressSchema } from '../wire/gen/peering/peerstream_pb.ts';
import { ackMessage, heartbeatMessage, openMessage, subscribeMessage, terminatedMessage } from '../wire/messages.ts';
import { RESOURCE_KINDS } from '../wire/resources.ts';
import { driveSession } from './drive-session.ts';

describe('an accepting session', () => {
  it('authorizes the Open, subscribes, and sends subscribed resources and their changes [STREAM-17] [STREAM-37]', async () => {
    const scene = acceptSession({ resources: [list('web'), service('web')] });
    const { peer, source } = scene;
    peer.send(openMessage(OPEN));
    peer.send(subscribeMessage('p', 'list'));
    peer.send(subscribeMessage('p', 'service'));
    const words: string[] = [];
    for (let taken = 0; taken < 5; taken++) words.push(await receiveDescription(scene));
    assert.deepEqual(words, [
      'subscribe ExportedServiceList',
      'subscribe ExportedService',
      'subscribe PeeringTrustBundle',
      'response 00000001 exported-service-list',
      'response 00000002 web',
    ]);
    source.remove({ kind: 'service', id: 'web' });
    const gone = await peer.receive();
    assert.equal(describeMessage(gone), 'response 00000003 web');
    assert.equal(gone?.Payload.case === 'response' ? gone.Payload.value.Resource?.value.length : undefined, 0);
    peer.send(ackMessage('p', { nonce: '00000003', url: RESOURCE_KINDS.service.url }));
    source.put(service('web'));
    assert.equal(await receiveDescription(scene), 'response 00000004 web');
    assert.deepEqual(source.reports, ['web acknowledged']);
  });

  it('ends with the status of a refusal and the address of another server', async () => {
    const status = { code: Code.FailedPrecondition, message: 'not here', leader: '10.0.0.1:8503' };
    const { peer, session } = acceptSession({ authorization: { kind: 'refused', status } });
    peer.send(openMessage(OPEN));
    const error = await peer.receive().catch((reason: unknown) => reason);
    assert.ok(error instanceof ConnectError);
    assert.equal(error.code, Code.FailedPrecondition);
    assert.deepEqual(error.details, [{ desc: LeaderAddressSchema, value: { address: '10.0.0.1:8503' } }]);
    assert.deepEqual(await session.ended, { kind: 'refused', status });
  });

  it('sends Terminated and then ABORTED for a deleted peering [STREAM-28] [STREAM-80]', async () => {
    const scene = acceptSession({ authorization: { kind: 'deleted' } });
    scene.peer.send(openMessage(OPEN));
    assert.equal(await receiveDescription(scene), 'terminated');
    await assert.rejects(scene.peer.receive(), { code: Code.Aborted });
    assert.deepEqual(await scene.session.ended, { kind: 'terminated-here' });
  });

  it('ends with INVALID_ARGUMENT when the first message is not Open', async () => {
    const { peer, session } = acceptSession();
    peer.send(heartbeatMessage());
    await assert.rejects(peer.receive(), { code: Code.InvalidArgument });
    assert.equal((await session.ended).kind, 'protocol-error');
  });

  it('ends as failed when authorization fails', async () => {
    const clock = createFakeClock();
    const error = new Error('no store');
    const authorize = (): Promise<Authorization> => Promise.reject(error);
    const session = driveSession({ side: 'accepting', clock, times: TIMES, callbacks: { authorize } });
    const peer = attachPeer(session);
    peer.send(openMessage(OPEN));
    await assert.rejects(peer.receive(), { code: Code.Internal, rawMessage: 'internal error' });
    assert.deepEqual(await session.ended, { kind: 'failed', error });
  });

  it('detects a lost connection while it is not reading', async () => {
    const connection = new AbortController();
    const scene = await acceptOpenSession({ disconnected: connection.signal });
    connection.abort();
    await scene.clock.run(CLOSING_MS);
    assert.equal((await scene.session.ended).kind, 'transport-failed');
    assert.equal(scene.source.isFollowed, false);
  });
});

describe('applying', () => {
  it('sends a NACK with the reason of ApplyRefused and without the text of other errors [STREAM-42]', async () => {
    const scene = await acceptOpenSession();
    const { peer, sink, failures } = scene;
    sink.isHeld = true;
    peer.send(resourceResponse(service('web'), 'n1'));
    peer.send(resourceResponse(service('api'), 'n2'));
    await scene.clock.run(0);
    const fault = new Error('a secret');
    sink.pending[0]?.reject(new ApplyRefused(Code.InvalidArgument, 'no such node'));
    sink.pending[1]?.reject(fault);
    assert.equal(await receiveDescription(scene), 'nack n1: no such node');
    assert.equal(await receiveDescription(scene), 'nack n2: internal error');
    assert.deepEqual(failures, [fault]);
  });

  it('ends the session when a newer stream has superseded it', async () => {
    const scene = await acceptOpenSession();
    scene.sink.isHeld = true;
    scene.peer.send(resourceResponse(service('web'), 'n1'));
    await scene.clock.run(0);
    scene.sink.pending[0]?.reject(new SessionSuperseded());
    await assert.rejects(scene.peer.receive(), { code: Code.Aborted });
    assert.deepEqual(await scene.session.ended, { kind: 'stopped', reason: 'superseded' });
  });
});

describe('a dialing session', () => {
  it('sends Open first, subscribes to addresses too, and follows its resources once it is open [STREAM-17] [STREAM-25]', async () => {
    const scene = dialSession();
    const words: string[] = [];
    for (let taken = 0; taken < 5; taken++) words.push(await receiveDescription(scene));
    assert.equal(words[0], 'open');
    assert.equal(words[4], 'subscribe PeeringServerAddresses');
    assert.equal(scene.source.isFollowed, false);
    scene.peer.send(heartbeatMessage());
    await scene.clock.run(0);
    assert.equal(scene.source.isFollowed, true);
  });

  it('reports the status of a refusal and the address of another server', async () => {
    const { peer, session } = dialSession();
    const error = new ConnectError('elsewhere', Code.FailedPrecondition);
    error.isWireError = true;
    error.findDetails = (() => [create(LeaderAddressSchema, { address: 'a:1' })]) as typeof error.findDetails;
    peer.disconnect(error);
    assert.deepEqual(await session.ended, {
      kind: 'refused',
      status: { code: Code.FailedPrecondition, message: 'elsewhere', leader: 'a:1' },
    });
  });

  it('ends when the peer sends Terminated [STREAM-81]', async () => {
    const { peer, session } = dialSession();
    peer.send(terminatedMessage());
    while ((await peer.receive()) !== undefined);
    assert.deepEqual(await session.ended, { kind: 'terminated-by-peer' });
  });

  it('confirms a deletion after it is stored and pauses reading until then [STREAM-82]', async () => {
    const kept = Promise.withResolvers<void>();
    const scene = dialSession(() => kept.promise);
    for (let taken = 0; taken < 5; taken++) await receiveDescription(scene);
    scene.peer.send(terminatedMessage());
    scene.peer.send(heartbeatMessage());
    const next = receiveDescription(scene);
    await scene.clock.run(0);
    assert.equal(scene.peer.unread, 1);
    const first = await Promise.race([next, Promise.resolve('nothing yet')]);
    assert.equal(first, 'nothing yet');
    kept.resolve();
    assert.equal(await next, 'terminated');
    assert.equal(await scene.peer.receive(), undefined);
    assert.deepEqual(await scene.session.ended, { kind: 'terminated-by-peer' });
    assert.equal(await scene.session.confirmed, true);
  });

  it('does not confirm a deletion that could not be stored [STREAM-82]', async () => {
    const fault = new Error('no store');
    const scene = dialSession(() => Promise.reject(fault));
    for (let taken = 0; taken < 5; taken++) await receiveDescription(scene);
    scene.peer.send(terminatedMessage());
    assert.equal((await scene.session.ended).kind, 'transport-failed');
    assert.equal(await receiveDescription(scene), 'nothing');
  });

  it('does not treat a closed stream as a confirmation [STREAM-83]', async () => {
    for (const error of [undefined, new Error('gone')]) {
      const { peer, session } = dialSession();
      peer.disconnect(error);
      assert.equal(await session.confirmed, false);
    }
  });

  it('resets the call CLOSING_MS after the end [STREAM-88]', async () => {
    const { clock, peer, session } = dialSession();
    session.stop('shutdown');
    assert.equal(await peer.receive(), undefined);
    await session.ended;
    await clock.run(CLOSING_MS - 1);
    assert.equal(session.reset.aborted, false);
    await clock.run(1);
    assert.equal(session.reset.aborted, true);
  });
});
