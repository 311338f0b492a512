import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  API,
  acceptingSession,
  answeredNonces,
  authorizingSession,
  dialingSession,
  dispatch,
  drain,
  exportingSession,
  numberedService,
  openSession,
  REFUSAL,
  resourcesToApply,
  responseReceived,
  START_MS,
  sentMessages,
  sessionEndIn,
  TIMES,
  WEB,
} from '../../../../test/support/peering/session-fixtures.ts';
import { PARALLEL_APPLIES_MAX, UNACKNOWLEDGED_MAX } from '../limits.ts';
import type { ResourceKey } from '../wire/resources.ts';
import { canRead, nextTickAt } from './session.ts';

const SILENCE = TIMES.heartbeatTimeoutMs;

describe('the handshake', () => {
  it('sends Open and subscriptions on the dialing side and opens at the first received message [STREAM-24] [STREAM-25] [STREAM-46]', () => {
    const session = dialingSession();
    assert.deepEqual(sentMessages(drain(session)), ['open', 'request', 'request', 'request', 'request']);
    assert.deepEqual(dispatch(session, { type: 'heartbeat-received' }), [{ type: 'opened' }]);
  });

  it('pauses reading on the accepting side during authorization and then subscribes [STREAM-26]', () => {
    const session = authorizingSession();
    assert.equal(canRead(session), false);
    dispatch(session, { type: 'authorized' });
    assert.equal(canRead(session), true);
    assert.deepEqual(sentMessages(drain(session)), ['request', 'request', 'request']);
  });

  it('ends either side at the handshake timeout [STREAM-31]', () => {
    for (const session of [acceptingSession(), authorizingSession(), dialingSession()]) {
      assert.equal(nextTickAt(session), START_MS + TIMES.handshakeTimeoutMs);
      dispatch(session, { type: 'tick' }, nextTickAt(session));
      assert.deepEqual(sessionEndIn(drain(session)), { kind: 'timed-out', reason: 'handshake timeout' });
    }
  });

  it('sends Terminated after authorization when the peering was deleted during it [STREAM-80]', () => {
    const accepted = authorizingSession();
    dispatch(accepted, { type: 'terminate' });
    dispatch(accepted, { type: 'authorized' });
    assert.deepEqual(sentMessages(drain(accepted)), ['terminated']);

    const dialed = dialingSession();
    drain(dialed);
    dispatch(dialed, { type: 'terminate' });
    const first = dispatch(dialed, { type: 'subscribe-received', kind: 'list' });
    assert.deepEqual(sentMessages(first), ['terminated']);
    assert.deepEqual(sessionEndIn(drain(dialed)), { kind: 'terminated-here' });
  });
});

describe('sending', () => {
  it('sends a resource once after several changes [STREAM-47]', () => {
    const session = exportingSession();
    dispatch(session, { type: 'changed', keys: [API] });
    for (let times = 0; times < 5; times++) dispatch(session, { type: 'changed', keys: [WEB] });
    assert.deepEqual(sentMessages(drain(session)), ['web 00000002']);
  });

  it('counts nonces from 00000001 in hexadecimal [STREAM-39]', () => {
    const session = exportingSession();
    const keys = Array.from({ length: 17 }, (_, number) => numberedService(number));
    const first = dispatch(session, { type: 'changed', keys });
    const nonces = sentMessages([...first, ...drain(session)]).map((text) => text.split(' ')[1]);
    assert.deepEqual([nonces.at(0), nonces.at(9), nonces.at(16)], ['00000001', '0000000a', '00000011']);
  });

  it('sends heartbeats and acknowledgments before resources [STREAM-46]', () => {
    const session = exportingSession();
    dispatch(session, { type: 'changed', keys: [WEB, API] });
    dispatch(session, responseReceived(WEB, 'n1'));
    dispatch(session, { type: 'applied', key: WEB });
    dispatch(session, { type: 'heartbeat-received' }, START_MS + TIMES.heartbeatIntervalMs);
    dispatch(session, { type: 'tick' }, START_MS + TIMES.heartbeatIntervalMs);
    assert.deepEqual(sentMessages(drain(session, START_MS + TIMES.heartbeatIntervalMs)), [
      'heartbeat',
      'request',
      'api 00000002',
    ]);
  });

  it('sends no resource of a kind that the peer has not subscribed to', () => {
    const session = openSession();
    assert.deepEqual(dispatch(session, { type: 'changed', keys: [WEB] }), []);
  });

  it('uses a nonce for a resource that was not sent and continues with the next [STREAM-39]', () => {
    const session = exportingSession();
    dispatch(session, { type: 'changed', keys: [WEB, API] });
    assert.deepEqual(sentMessages(dispatch(session, { type: 'not-sent', nonce: '00000001' })), ['api 00000002']);
  });

  it('sends everything again at a repeated subscription and counts a protocol error [STREAM-38]', () => {
    const session = exportingSession();
    const effects = dispatch(session, { type: 'subscribe-received', kind: 'service' });
    assert.deepEqual(effects, [{ type: 'enumerate', kind: 'service' }]);
    assert.equal(session.counters.protocolErrors, 1);
  });

  it('reports the time to an acknowledgment', () => {
    const session = exportingSession();
    dispatch(session, { type: 'changed', keys: [WEB] });
    const effects = dispatch(session, { type: 'ack-received', nonce: '00000001' }, START_MS + 70);
    assert.deepEqual(effects, [{ type: 'acknowledged', key: WEB, afterMs: 70 }]);
  });

  it('sends at most UNACKNOWLEDGED_MAX responses before an acknowledgment [STREAM-48] [STREAM-49]', () => {
    const session = exportingSession();
    const keys = Array.from({ length: UNACKNOWLEDGED_MAX + 2 }, (_, number) => numberedService(number));
    dispatch(session, { type: 'changed', keys });
    drain(session);
    assert.equal(session.sendQueue.unacknowledged.size, UNACKNOWLEDGED_MAX);
    const next = dispatch(session, { type: 'ack-received', nonce: '00000010' });
    assert.equal(sentMessages(next).length, 1);
    dispatch(session, { type: 'heartbeat-received' }, START_MS + SILENCE);
    dispatch(session, { type: 'ready' }, START_MS + SILENCE);
    const effects = dispatch(session, { type: 'tick' }, START_MS + SILENCE);
    assert.deepEqual(sessionEndIn(effects), { kind: 'limit', limit: 'responses-unacknowledged' });
  });
});

describe('applying', () => {
  it('sends an ACK for an applied resource and a NACK for a rejected one [STREAM-40]', () => {
    const session = openSession();
    assert.deepEqual(resourcesToApply(dispatch(session, responseReceived(WEB, 'n1'))), ['web']);
    assert.deepEqual(answeredNonces(dispatch(session, { type: 'applied', key: WEB })), ['n1']);
    dispatch(session, responseReceived(WEB, 'n2'));
    drain(session);
    assert.deepEqual(answeredNonces(dispatch(session, { type: 'not-applied', key: WEB, refusal: REFUSAL })), ['!n2']);
  });

  it('replaces a pending response with a newer one and acknowledges both together [STREAM-52]', () => {
    const session = openSession();
    dispatch(session, responseReceived(WEB, 'n1'));
    dispatch(session, responseReceived(WEB, 'n2'));
    dispatch(session, responseReceived(WEB, 'n3'));
    const after = dispatch(session, { type: 'applied', key: WEB });
    assert.deepEqual([answeredNonces(after), resourcesToApply(after)], [['n1'], ['web']]);
    dispatch(session, { type: 'applied', key: WEB });
    assert.deepEqual(answeredNonces(drain(session)), ['n2', 'n3']);
  });

  it('applies a list alone and in order [STREAM-51]', () => {
    const session = openSession();
    const list: ResourceKey = { kind: 'list', id: 'exported-service-list' };
    assert.deepEqual(resourcesToApply(dispatch(session, responseReceived(WEB, 'n1'))), ['web']);
    assert.deepEqual(resourcesToApply(dispatch(session, responseReceived(list, 'n2'))), []);
    assert.deepEqual(resourcesToApply(dispatch(session, responseReceived(API, 'n3'))), []);
    const after = dispatch(session, { type: 'applied', key: WEB });
    assert.deepEqual(resourcesToApply(after), ['exported-service-list first']);
    assert.deepEqual(resourcesToApply(dispatch(session, { type: 'applied', key: list })), ['api']);
  });

  it('marks each list as first until one was applied', () => {
    const session = openSession();
    const list: ResourceKey = { kind: 'list', id: 'exported-service-list' };
    dispatch(session, responseReceived(list, 'n1'));
    dispatch(session, { type: 'not-applied', key: list, refusal: REFUSAL });
    assert.deepEqual(resourcesToApply(dispatch(session, responseReceived(list, 'n2'))), [
      'exported-service-list first',
    ]);
    dispatch(session, { type: 'applied', key: list });
    assert.deepEqual(resourcesToApply(dispatch(session, responseReceived(list, 'n3'))), ['exported-service-list']);
  });

  it('applies at most PARALLEL_APPLIES_MAX resources in parallel [STREAM-51]', () => {
    const session = openSession();
    for (let number = 0; number <= PARALLEL_APPLIES_MAX; number++)
      dispatch(session, responseReceived(numberedService(number), `n${number}`));
    assert.deepEqual([session.applyQueue.inProgress.size, session.applyQueue.pending.size], [PARALLEL_APPLIES_MAX, 1]);
  });
});
