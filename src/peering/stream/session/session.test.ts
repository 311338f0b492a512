import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
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
import { APPLYING_MAX, UNACKNOWLEDGED_MAX } from '../limits.ts';
import type { ResourceKey } from '../wire/resources.ts';
import { mayRead, nextTickAt } from './session.ts';

const SILENCE = TIMES.heartbeatTimeoutMs;

suite('the handshake', () => {
  test('the dialing side says Open, then what it wants, and is open when it hears anything', () => {
    const session = dialing();
    assert.deepEqual(sent(drain(session)), ['open', 'request', 'request', 'request', 'request']);
    assert.deepEqual(happen(session, { type: 'heartbeat-received' }), [{ type: 'opened' }]);
  });

  test('the accepting side reads nothing while its owner decides, and then says what it wants', () => {
    const session = authorizing();
    assert.equal(mayRead(session), false);
    happen(session, { type: 'authorized' });
    assert.equal(mayRead(session), true);
    assert.deepEqual(sent(drain(session)), ['request', 'request', 'request']);
  });

  test('a handshake that takes too long ends either side', () => {
    for (const session of [accepting(), authorizing(), dialing()]) {
      assert.equal(nextTickAt(session), AT + TIMES.handshakeTimeoutMs);
      happen(session, { type: 'tick' }, nextTickAt(session));
      assert.deepEqual(endOf(drain(session)), { kind: 'timed-out', reason: 'handshake timeout' });
    }
  });

  test('a peering that is deleted while a stream opens is terminated once the other side may know', () => {
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

suite('sending', () => {
  test('a resource goes out once however often it changes before the transport asks', () => {
    const session = exporting();
    happen(session, { type: 'changed', keys: [API] });
    for (let times = 0; times < 5; times++) happen(session, { type: 'changed', keys: [WEB] });
    assert.deepEqual(sent(drain(session)), ['web 00000002']);
  });

  test('nonces count up from 00000001 in hexadecimal digits', () => {
    const session = exporting();
    const keys = Array.from({ length: 17 }, (_, number) => numberedService(number));
    const first = happen(session, { type: 'changed', keys });
    const nonces = sent([...first, ...drain(session)]).map((text) => text.split(' ')[1]);
    assert.deepEqual([nonces.at(0), nonces.at(9), nonces.at(16)], ['00000001', '0000000a', '00000011']);
  });

  test('answers and heartbeats overtake contents', () => {
    const session = exporting();
    happen(session, { type: 'changed', keys: [WEB, API] });
    happen(session, response(WEB, 'n1'));
    happen(session, { type: 'applied', key: WEB });
    happen(session, { type: 'heartbeat-received' }, AT + TIMES.heartbeatIntervalMs);
    happen(session, { type: 'tick' }, AT + TIMES.heartbeatIntervalMs);
    assert.deepEqual(sent(drain(session, AT + TIMES.heartbeatIntervalMs)), ['heartbeat', 'request', 'api 00000002']);
  });

  test('what the peer has not subscribed to is not sent', () => {
    const session = live();
    assert.deepEqual(happen(session, { type: 'changed', keys: [WEB] }), []);
  });

  test('what was not sent costs a nonce and leaves the transport waiting for the next', () => {
    const session = exporting();
    happen(session, { type: 'changed', keys: [WEB, API] });
    assert.deepEqual(sent(happen(session, { type: 'not-sent', nonce: '00000001' })), ['api 00000002']);
  });

  test('a second subscription has everything sent again, and is counted', () => {
    const session = exporting();
    const again = happen(session, { type: 'subscribe-received', kind: 'service' });
    assert.deepEqual(again, [{ type: 'enumerate', kind: 'service' }]);
    assert.equal(session.counters.protocolErrors, 1);
  });

  test('an acknowledgement tells how long it took', () => {
    const session = exporting();
    happen(session, { type: 'changed', keys: [WEB] });
    const effects = happen(session, { type: 'ack-received', nonce: '00000001' }, AT + 70);
    assert.deepEqual(effects, [{ type: 'acknowledged', key: WEB, afterMs: 70 }]);
  });

  test('contents wait for a peer that owes too many answers, and one answer lets the next go', () => {
    const session = exporting();
    const keys = Array.from({ length: UNACKNOWLEDGED_MAX + 2 }, (_, number) => numberedService(number));
    happen(session, { type: 'changed', keys });
    drain(session);
    assert.equal(session.sending.unacknowledged.size, UNACKNOWLEDGED_MAX);
    const next = happen(session, { type: 'ack-received', nonce: '00000010' });
    assert.equal(sent(next).length, 1);
    happen(session, { type: 'heartbeat-received' }, AT + SILENCE);
    happen(session, { type: 'ready' }, AT + SILENCE);
    const effects = happen(session, { type: 'tick' }, AT + SILENCE);
    assert.deepEqual(endOf(effects), { kind: 'limit', limit: 'responses-unacknowledged' });
  });
});

suite('applying', () => {
  test('a resource is acknowledged when it was applied, and refused when it was not', () => {
    const session = live();
    assert.deepEqual(applications(happen(session, response(WEB, 'n1'))), ['web']);
    assert.deepEqual(answered(happen(session, { type: 'applied', key: WEB })), ['n1']);
    happen(session, response(WEB, 'n2'));
    drain(session);
    assert.deepEqual(answered(happen(session, { type: 'not-applied', key: WEB, refusal: REFUSAL })), ['!n2']);
  });

  test('what a newer response overtakes is not applied, and answered with the newer', () => {
    const session = live();
    happen(session, response(WEB, 'n1'));
    happen(session, response(WEB, 'n2'));
    happen(session, response(WEB, 'n3'));
    const after = happen(session, { type: 'applied', key: WEB });
    assert.deepEqual([answered(after), applications(after)], [['n1'], ['web']]);
    happen(session, { type: 'applied', key: WEB });
    assert.deepEqual(answered(drain(session)), ['n2', 'n3']);
  });

  test('a list is applied alone and in its place', () => {
    const session = live();
    const list: ResourceKey = { kind: 'list', id: 'exported-service-list' };
    assert.deepEqual(applications(happen(session, response(WEB, 'n1'))), ['web']);
    assert.deepEqual(applications(happen(session, response(list, 'n2'))), []);
    assert.deepEqual(applications(happen(session, response(API, 'n3'))), []);
    const after = happen(session, { type: 'applied', key: WEB });
    assert.deepEqual(applications(after), ['exported-service-list first']);
    assert.deepEqual(applications(happen(session, { type: 'applied', key: list })), ['api']);
  });

  test('the first list is the first until one was applied', () => {
    const session = live();
    const list: ResourceKey = { kind: 'list', id: 'exported-service-list' };
    happen(session, response(list, 'n1'));
    happen(session, { type: 'not-applied', key: list, refusal: REFUSAL });
    assert.deepEqual(applications(happen(session, response(list, 'n2'))), ['exported-service-list first']);
    happen(session, { type: 'applied', key: list });
    assert.deepEqual(applications(happen(session, response(list, 'n3'))), ['exported-service-list']);
  });

  test('no more are applied side by side than the limit', () => {
    const session = live();
    for (let number = 0; number <= APPLYING_MAX; number++)
      happen(session, response(numberedService(number), `n${number}`));
    assert.deepEqual([session.applying.applying.size, session.applying.waiting.size], [APPLYING_MAX, 1]);
  });
});
