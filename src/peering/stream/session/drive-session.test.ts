import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
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
import { answerMessage, heartbeatMessage, openMessage, subscribeMessage, terminatedMessage } from '../wire/messages.ts';
import { RESOURCE_KINDS } from '../wire/resources.ts';
import { driveSession } from './drive-session.ts';

suite('an accepting session', () => {
  test('authorizes the Open, subscribes, sends what is subscribed to and every change', async () => {
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
    peer.say(answerMessage('p', { nonce: '00000003', url: RESOURCE_KINDS.service.url }));
    source.put(service('web'));
    assert.equal(await takeWords(scene), 'response 00000004 web');
    assert.deepEqual(source.told, ['web acknowledged']);
  });

  test('gives the status of a refusal, with the server that would serve', async () => {
    const status = { code: Code.FailedPrecondition, message: 'not here', leader: '10.0.0.1:8503' };
    const { peer, session } = accept({ authorization: { kind: 'refused', status } });
    peer.say(openMessage(OPEN));
    const error = await peer.take().catch((reason: unknown) => reason);
    assert.ok(error instanceof ConnectError);
    assert.equal(error.code, Code.FailedPrecondition);
    assert.deepEqual(error.details, [{ desc: LeaderAddressSchema, value: { address: '10.0.0.1:8503' } }]);
    assert.deepEqual(await session.ended, { kind: 'refused', status });
  });

  test('says Terminated and then ABORTED for a peering that was deleted', async () => {
    const scene = accept({ authorization: { kind: 'deleted' } });
    scene.peer.say(openMessage(OPEN));
    assert.equal(await takeWords(scene), 'terminated');
    await assert.rejects(scene.peer.take(), { code: Code.Aborted });
    assert.deepEqual(await scene.session.ended, { kind: 'terminated-here' });
  });

  test('ends with INVALID_ARGUMENT when the first message is not Open', async () => {
    const { peer, session } = accept();
    peer.say(heartbeatMessage());
    await assert.rejects(peer.take(), { code: Code.InvalidArgument });
    assert.equal((await session.ended).kind, 'protocol-error');
  });

  test('ends as failed when its owner cannot decide', async () => {
    const clock = createFakeClock();
    const error = new Error('no store');
    const authorize = (): Promise<Authorization> => Promise.reject(error);
    const session = driveSession({ side: 'accepting', clock, times: TIMES, owner: { authorize } });
    const peer = attachPeer(session);
    peer.say(openMessage(OPEN));
    await assert.rejects(peer.take(), { code: Code.Internal, rawMessage: 'internal error' });
    assert.deepEqual(await session.ended, { kind: 'failed', error });
  });

  test('hears that the connection is gone although it does not read', async () => {
    const connection = new AbortController();
    const scene = await acceptLive({ gone: connection.signal });
    connection.abort();
    await scene.clock.run(CLOSING_MS);
    assert.equal((await scene.session.ended).kind, 'transport-failed');
    assert.equal(scene.source.followed, false);
  });
});

suite('applying', () => {
  test('what its owner refuses is refused with its reason, and a fault without', async () => {
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

  test('a session that another stream has superseded ends', async () => {
    const scene = await acceptLive();
    scene.sink.holds = true;
    scene.peer.say(responseOf(service('web'), 'n1'));
    await scene.clock.run(0);
    scene.sink.held[0]?.reject(new SessionSuperseded());
    await assert.rejects(scene.peer.take(), { code: Code.Aborted });
    assert.deepEqual(await scene.session.ended, { kind: 'stopped', reason: 'superseded' });
  });
});

suite('a dialing session', () => {
  test('says Open first, asks for addresses too, and follows its resources once it is heard', async () => {
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

  test('learns why it was refused and who would serve it', async () => {
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

  test('ends when the other side says Terminated', async () => {
    const { peer, session } = dial();
    peer.say(terminatedMessage());
    while ((await peer.take()) !== undefined);
    assert.deepEqual(await session.ended, { kind: 'terminated-by-peer' });
  });

  test('says that it has heard of the deletion once that is kept, and reads nothing meanwhile', async () => {
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

  test('does not say so when it cannot be kept', async () => {
    const fault = new Error('no store');
    const scene = dial(() => Promise.reject(fault));
    for (let taken = 0; taken < 5; taken++) await takeWords(scene);
    scene.peer.say(terminatedMessage());
    assert.equal((await scene.session.ended).kind, 'transport-failed');
    assert.equal(await takeWords(scene), 'nothing');
  });

  test('takes no way of leaving without a word for a confirmation', async () => {
    for (const error of [undefined, new Error('gone')]) {
      const { peer, session } = dial();
      peer.leave(error);
      assert.equal(await session.confirmed, false);
    }
  });

  test('leaves the call a while to be ended by the other side before it is torn down', async () => {
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
