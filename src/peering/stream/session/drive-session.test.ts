import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { create } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { createFakeClock } from '../../../../test/support/fake-clock.ts';
import { OPEN, TIMES } from '../../../../test/support/peering/peer-session.ts';
import { attachPeer, list, service } from '../../../../test/support/peering/scripted-peer.ts';
import {
  accept,
  acceptLive,
  dial,
  inWords,
  responseOf,
  takeWords,
} from '../../../../test/support/peering/session-scene.ts';
import { ApplyRefused, type Authorization, SessionSuperseded } from '../contract.ts';
import { CLOSING_MS } from '../limits.ts';
import { LeaderAddressSchema } from '../wire/gen/peering/peerstream_pb.ts';
import { ackMessage, heartbeatMessage, openMessage, subscribeMessage, terminatedMessage } from '../wire/messages.ts';
import { RESOURCE_KINDS } from '../wire/resources.ts';
import { driveSession } from './drive-session.ts';

describe('an accepting session', () => {
  it('authorizes the Open, subscribes, and sends subscribed resources and their changes', async () => {
    const scene = accept({ resources: [list('web'), service('web')] });
    const { peer, source } = scene;
    peer.say(openMessage(OPEN));
    peer.say(subscribeMessage('p', 'list'));
    peer.say(subscribeMessage('p', 'service'));
    const words: string[] = [];
    for (let taken = 0; taken < 5; taken++) words.push(await takeWords(scene));
    assert.deepEqual(words, [
      'subscribe ExportedServiceList',
      'subscribe ExportedService',
      'subscribe PeeringTrustBundle',
      'response 00000001 exported-service-list',
      'response 00000002 web',
    ]);
    source.remove({ kind: 'service', id: 'web' });
    const gone = await peer.take();
    assert.equal(inWords(gone), 'response 00000003 web');
    assert.equal(gone?.Payload.case === 'response' ? gone.Payload.value.Resource?.value.length : undefined, 0);
    peer.say(ackMessage('p', { nonce: '00000003', url: RESOURCE_KINDS.service.url }));
    source.put(service('web'));
    assert.equal(await takeWords(scene), 'response 00000004 web');
    assert.deepEqual(source.told, ['web acknowledged']);
  });

  it('ends with the status of a refusal and the address of another server', async () => {
    const status = { code: Code.FailedPrecondition, message: 'not here', leader: '10.0.0.1:8503' };
    const { peer, session } = accept({ authorization: { kind: 'refused', status } });
    peer.say(openMessage(OPEN));
    const error = await peer.take().catch((reason: unknown) => reason);
    assert.ok(error instanceof ConnectError);
    assert.equal(error.code, Code.FailedPrecondition);
    assert.deepEqual(error.details, [{ desc: LeaderAddressSchema, value: { address: '10.0.0.1:8503' } }]);
    assert.deepEqual(await session.ended, { kind: 'refused', status });
  });

  it('sends Terminated and then ABORTED for a deleted peering', async () => {
    const scene = accept({ authorization: { kind: 'deleted' } });
    scene.peer.say(openMessage(OPEN));
    assert.equal(await takeWords(scene), 'terminated');
    await assert.rejects(scene.peer.take(), { code: Code.Aborted });
    assert.deepEqual(await scene.session.ended, { kind: 'terminated-here' });
  });

  it('ends with INVALID_ARGUMENT when the first message is not Open', async () => {
    const { peer, session } = accept();
    peer.say(heartbeatMessage());
    await assert.rejects(peer.take(), { code: Code.InvalidArgument });
    assert.equal((await session.ended).kind, 'protocol-error');
  });

  it('ends as failed when authorization fails', async () => {
    const clock = createFakeClock();
    const error = new Error('no store');
    const authorize = (): Promise<Authorization> => Promise.reject(error);
    const session = driveSession({ side: 'accepting', clock, times: TIMES, callbacks: { authorize } });
    const peer = attachPeer(session);
    peer.say(openMessage(OPEN));
    await assert.rejects(peer.take(), { code: Code.Internal, rawMessage: 'internal error' });
    assert.deepEqual(await session.ended, { kind: 'failed', error });
  });

  it('detects a lost connection while it is not reading', async () => {
    const connection = new AbortController();
    const scene = await acceptLive({ gone: connection.signal });
    connection.abort();
    await scene.clock.run(CLOSING_MS);
    assert.equal((await scene.session.ended).kind, 'transport-failed');
    assert.equal(scene.source.followed, false);
  });
});

describe('applying', () => {
  it('sends a NACK with the reason of ApplyRefused and without the text of other errors', async () => {
    const scene = await acceptLive();
    const { peer, sink, failures } = scene;
    sink.holds = true;
    peer.say(responseOf(service('web'), 'n1'));
    peer.say(responseOf(service('api'), 'n2'));
    await scene.clock.run(0);
    const fault = new Error('a secret');
    sink.held[0]?.reject(new ApplyRefused(Code.InvalidArgument, 'no such node'));
    sink.held[1]?.reject(fault);
    assert.equal(await takeWords(scene), 'nack n1: no such node');
    assert.equal(await takeWords(scene), 'nack n2: internal error');
    assert.deepEqual(failures, [fault]);
  });

  it('ends the session when a newer stream has superseded it', async () => {
    const scene = await acceptLive();
    scene.sink.holds = true;
    scene.peer.say(responseOf(service('web'), 'n1'));
    await scene.clock.run(0);
    scene.sink.held[0]?.reject(new SessionSuperseded());
    await assert.rejects(scene.peer.take(), { code: Code.Aborted });
    assert.deepEqual(await scene.session.ended, { kind: 'stopped', reason: 'superseded' });
  });
});

describe('a dialing session', () => {
  it('sends Open first, subscribes to addresses too, and follows its resources once it is open', async () => {
    const scene = dial();
    const words: string[] = [];
    for (let taken = 0; taken < 5; taken++) words.push(await takeWords(scene));
    assert.equal(words[0], 'open');
    assert.equal(words[4], 'subscribe PeeringServerAddresses');
    assert.equal(scene.source.followed, false);
    scene.peer.say(heartbeatMessage());
    await scene.clock.run(0);
    assert.equal(scene.source.followed, true);
  });

  it('reports the status of a refusal and the address of another server', async () => {
    const { peer, session } = dial();
    const error = new ConnectError('elsewhere', Code.FailedPrecondition);
    error.isWireError = true;
    error.findDetails = (() => [create(LeaderAddressSchema, { address: 'a:1' })]) as typeof error.findDetails;
    peer.leave(error);
    assert.deepEqual(await session.ended, {
      kind: 'refused',
      status: { code: Code.FailedPrecondition, message: 'elsewhere', leader: 'a:1' },
    });
  });

  it('ends when the peer sends Terminated', async () => {
    const { peer, session } = dial();
    peer.say(terminatedMessage());
    while ((await peer.take()) !== undefined);
    assert.deepEqual(await session.ended, { kind: 'terminated-by-peer' });
  });

  it('confirms a deletion after it is stored and pauses reading until then', async () => {
    const kept = Promise.withResolvers<void>();
    const scene = dial(() => kept.promise);
    for (let taken = 0; taken < 5; taken++) await takeWords(scene);
    scene.peer.say(terminatedMessage());
    scene.peer.say(heartbeatMessage());
    const next = takeWords(scene);
    await scene.clock.run(0);
    assert.equal(scene.peer.unread, 1);
    const first = await Promise.race([next, Promise.resolve('nothing yet')]);
    assert.equal(first, 'nothing yet');
    kept.resolve();
    assert.equal(await next, 'terminated');
    assert.equal(await scene.peer.take(), undefined);
    assert.deepEqual(await scene.session.ended, { kind: 'terminated-by-peer' });
    assert.equal(await scene.session.confirmed, true);
  });

  it('does not confirm a deletion that could not be stored', async () => {
    const fault = new Error('no store');
    const scene = dial(() => Promise.reject(fault));
    for (let taken = 0; taken < 5; taken++) await takeWords(scene);
    scene.peer.say(terminatedMessage());
    assert.equal((await scene.session.ended).kind, 'transport-failed');
    assert.equal(await takeWords(scene), 'nothing');
  });

  it('does not treat a closed stream as a confirmation', async () => {
    for (const error of [undefined, new Error('gone')]) {
      const { peer, session } = dial();
      peer.leave(error);
      assert.equal(await session.confirmed, false);
    }
  });

  it('resets the call CLOSING_MS after the end', async () => {
    const { clock, peer, session } = dial();
    session.stop('shutdown');
    assert.equal(await peer.take(), undefined);
    await session.ended;
    await clock.run(CLOSING_MS - 1);
    assert.equal(session.reset.aborted, false);
    await clock.run(1);
    assert.equal(session.reset.aborted, true);
  });
});
