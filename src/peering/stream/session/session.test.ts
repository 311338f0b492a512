import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  API,
  AT,
  accepting,
  answered,
  applications,
  authorizing,
  dialing,
  drain,
  endOf,
  exporting,
  happen,
  live,
  numberedService,
  REFUSAL,
  response,
  sent,
  TIMES,
  WEB,
} from '../../../../test/support/peering/peer-session.ts';
import { PARALLEL_APPLIES_MAX, UNACKNOWLEDGED_MAX } from '../limits.ts';
import type { ResourceKey } from '../wire/resources.ts';
import { canRead, nextTickAt } from './session.ts';

const SILENCE = TIMES.heartbeatTimeoutMs;

describe('the handshake', () => {
  it('sends Open and subscriptions on the dialing side and opens at the first received message', () => {
    const session = dialing();
    assert.deepEqual(sent(drain(session)), ['open', 'request', 'request', 'request', 'request']);
    assert.deepEqual(happen(session, { type: 'heartbeat-received' }), [{ type: 'opened' }]);
  });

  it('pauses reading on the accepting side during authorization and then subscribes', () => {
    const session = authorizing();
    assert.equal(canRead(session), false);
    happen(session, { type: 'authorized' });
    assert.equal(canRead(session), true);
    assert.deepEqual(sent(drain(session)), ['request', 'request', 'request']);
  });

  it('ends either side at the handshake timeout', () => {
    for (const session of [accepting(), authorizing(), dialing()]) {
      assert.equal(nextTickAt(session), AT + TIMES.handshakeTimeoutMs);
      happen(session, { type: 'tick' }, nextTickAt(session));
      assert.deepEqual(endOf(drain(session)), { kind: 'timed-out', reason: 'handshake timeout' });
    }
  });

  it('sends Terminated after authorization when the peering was deleted during it', () => {
    const accepted = authorizing();
    happen(accepted, { type: 'terminate' });
    happen(accepted, { type: 'authorized' });
    assert.deepEqual(sent(drain(accepted)), ['terminated']);

    const dialed = dialing();
    drain(dialed);
    happen(dialed, { type: 'terminate' });
    const first = happen(dialed, { type: 'subscribe-received', kind: 'list' });
    assert.deepEqual(sent(first), ['terminated']);
    assert.deepEqual(endOf(drain(dialed)), { kind: 'terminated-here' });
  });
});

describe('sending', () => {
  it('sends a resource once after several changes', () => {
    const session = exporting();
    happen(session, { type: 'changed', keys: [API] });
    for (let times = 0; times < 5; times++) happen(session, { type: 'changed', keys: [WEB] });
    assert.deepEqual(sent(drain(session)), ['web 00000002']);
  });

  it('counts nonces from 00000001 in hexadecimal', () => {
    const session = exporting();
    const keys = Array.from({ length: 17 }, (_, number) => numberedService(number));
    const first = happen(session, { type: 'changed', keys });
    const nonces = sent([...first, ...drain(session)]).map((text) => text.split(' ')[1]);
    assert.deepEqual([nonces.at(0), nonces.at(9), nonces.at(16)], ['00000001', '0000000a', '00000011']);
  });

  it('sends heartbeats and acknowledgements before resources', () => {
    const session = exporting();
    happen(session, { type: 'changed', keys: [WEB, API] });
    happen(session, response(WEB, 'n1'));
    happen(session, { type: 'applied', key: WEB });
    happen(session, { type: 'heartbeat-received' }, AT + TIMES.heartbeatIntervalMs);
    happen(session, { type: 'tick' }, AT + TIMES.heartbeatIntervalMs);
    assert.deepEqual(sent(drain(session, AT + TIMES.heartbeatIntervalMs)), ['heartbeat', 'request', 'api 00000002']);
  });

  it('sends no kind without a subscription', () => {
    const session = live();
    assert.deepEqual(happen(session, { type: 'changed', keys: [WEB] }), []);
  });

  it('uses a nonce for a resource that was not sent and continues with the next', () => {
    const session = exporting();
    happen(session, { type: 'changed', keys: [WEB, API] });
    assert.deepEqual(sent(happen(session, { type: 'not-sent', nonce: '00000001' })), ['api 00000002']);
  });

  it('sends everything again at a repeated subscription and counts a protocol error', () => {
    const session = exporting();
    const effects = happen(session, { type: 'subscribe-received', kind: 'service' });
    assert.deepEqual(effects, [{ type: 'enumerate', kind: 'service' }]);
    assert.equal(session.counters.protocolErrors, 1);
  });

  it('reports the time to an acknowledgement', () => {
    const session = exporting();
    happen(session, { type: 'changed', keys: [WEB] });
    const effects = happen(session, { type: 'ack-received', nonce: '00000001' }, AT + 70);
    assert.deepEqual(effects, [{ type: 'acknowledged', key: WEB, afterMs: 70 }]);
  });

  it('sends at most UNACKNOWLEDGED_MAX responses before an acknowledgement', () => {
    const session = exporting();
    const keys = Array.from({ length: UNACKNOWLEDGED_MAX + 2 }, (_, number) => numberedService(number));
    happen(session, { type: 'changed', keys });
    drain(session);
    assert.equal(session.sendQueue.unacknowledged.size, UNACKNOWLEDGED_MAX);
    const next = happen(session, { type: 'ack-received', nonce: '00000010' });
    assert.equal(sent(next).length, 1);
    happen(session, { type: 'heartbeat-received' }, AT + SILENCE);
    happen(session, { type: 'ready' }, AT + SILENCE);
    const effects = happen(session, { type: 'tick' }, AT + SILENCE);
    assert.deepEqual(endOf(effects), { kind: 'limit', limit: 'responses-unacknowledged' });
  });
});

describe('applying', () => {
  it('sends an ACK for an applied resource and a NACK for a rejected one', () => {
    const session = live();
    assert.deepEqual(applications(happen(session, response(WEB, 'n1'))), ['web']);
    assert.deepEqual(answered(happen(session, { type: 'applied', key: WEB })), ['n1']);
    happen(session, response(WEB, 'n2'));
    drain(session);
    assert.deepEqual(answered(happen(session, { type: 'not-applied', key: WEB, refusal: REFUSAL })), ['!n2']);
  });

  it('replaces a pending response by a newer one and acknowledges both together', () => {
    const session = live();
    happen(session, response(WEB, 'n1'));
    happen(session, response(WEB, 'n2'));
    happen(session, response(WEB, 'n3'));
    const after = happen(session, { type: 'applied', key: WEB });
    assert.deepEqual([answered(after), applications(after)], [['n1'], ['web']]);
    happen(session, { type: 'applied', key: WEB });
    assert.deepEqual(answered(drain(session)), ['n2', 'n3']);
  });

  it('applies a list alone and in order', () => {
    const session = live();
    const list: ResourceKey = { kind: 'list', id: 'exported-service-list' };
    assert.deepEqual(applications(happen(session, response(WEB, 'n1'))), ['web']);
    assert.deepEqual(applications(happen(session, response(list, 'n2'))), []);
    assert.deepEqual(applications(happen(session, response(API, 'n3'))), []);
    const after = happen(session, { type: 'applied', key: WEB });
    assert.deepEqual(applications(after), ['exported-service-list first']);
    assert.deepEqual(applications(happen(session, { type: 'applied', key: list })), ['api']);
  });

  it('marks each list as first until one was applied', () => {
    const session = live();
    const list: ResourceKey = { kind: 'list', id: 'exported-service-list' };
    happen(session, response(list, 'n1'));
    happen(session, { type: 'not-applied', key: list, refusal: REFUSAL });
    assert.deepEqual(applications(happen(session, response(list, 'n2'))), ['exported-service-list first']);
    happen(session, { type: 'applied', key: list });
    assert.deepEqual(applications(happen(session, response(list, 'n3'))), ['exported-service-list']);
  });

  it('applies at most PARALLEL_APPLIES_MAX resources in parallel', () => {
    const session = live();
    for (let number = 0; number <= PARALLEL_APPLIES_MAX; number++)
      happen(session, response(numberedService(number), `n${number}`));
    assert.deepEqual([session.applyQueue.inProgress.size, session.applyQueue.pending.size], [PARALLEL_APPLIES_MAX, 1]);
  });
});
