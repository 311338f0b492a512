import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import {
  AT,
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
} from '../../../test/support/peering/peer-session.ts';
import {
  ANSWERS_WAITING_MAX,
  CHANGES_WAITING_MAX,
  CLOSING_MS,
  PROTOCOL_ERRORS_MAX,
  UNAPPLIED_BYTES_MAX,
} from './limits.ts';
import { mayRead, nextTickAt } from './session/session.ts';

const SILENCE = TIMES.heartbeatTimeoutMs;

suite('time', () => {
  test('heartbeats go out every interval, one at a time', () => {
    const session = live();
    for (let beat = 1; beat <= 3; beat++) {
      const at = AT + beat * TIMES.heartbeatIntervalMs;
      assert.equal(nextTickAt(session), at);
      assert.deepEqual(sent(happen(session, { type: 'tick' }, at)), ['heartbeat']);
      happen(session, { type: 'ready' }, at);
    }
  });

  test('silence ends the stream, and any message breaks it', () => {
    const session = live();
    happen(session, { type: 'unknown-received' }, AT + SILENCE - 1);
    happen(session, { type: 'tick' }, AT + SILENCE);
    assert.equal(session.phase.name, 'open');
    happen(session, { type: 'ready' }, AT + SILENCE);
    const effects = happen(session, { type: 'tick' }, AT + 2 * SILENCE - 1);
    assert.deepEqual(endOf(effects), { kind: 'timed-out', reason: 'heartbeat timeout' });
  });

  test('a peer that neither sends nor takes anything is not waited for at the end of its silence', () => {
    const session = live();
    assert.deepEqual(sent(happen(session, { type: 'tick' }, AT + SILENCE - 1)), ['heartbeat']);
    const effects = happen(session, { type: 'tick' }, AT + SILENCE);
    assert.deepEqual(
      effects.map(({ type }) => type),
      ['reset', 'ended'],
    );
    assert.deepEqual(endOf(effects), { kind: 'timed-out', reason: 'heartbeat timeout' });
  });

  test('silence is not counted while reading is paused here, but a standstill of the application is', () => {
    const session = live();
    happen(session, response(WEB, 'n1', UNAPPLIED_BYTES_MAX));
    assert.equal(mayRead(session), false);
    happen(session, { type: 'tick' }, AT + SILENCE - 1);
    happen(session, { type: 'ready' }, AT + SILENCE - 1);
    happen(session, { type: 'applied', key: WEB }, AT + SILENCE - 1);
    happen(session, { type: 'ready' }, AT + SILENCE - 1);
    happen(session, { type: 'tick' }, AT + SILENCE + 1);
    assert.equal(session.phase.name, 'open');
    happen(session, response(WEB, 'n2', UNAPPLIED_BYTES_MAX), AT + SILENCE + 1);
    happen(session, { type: 'ready' }, AT + SILENCE + 1);
    const effects = happen(session, { type: 'tick' }, AT + 2 * SILENCE + 1);
    assert.deepEqual(endOf(effects), { kind: 'timed-out', reason: 'apply timeout' });
  });

  test('a transport that takes nothing is torn down, with the name of the limit', () => {
    const session = exporting();
    happen(session, { type: 'changed', keys: [WEB] });
    happen(session, { type: 'heartbeat-received' }, AT + SILENCE - 1);
    const effects = happen(session, { type: 'tick' }, AT + SILENCE);
    assert.deepEqual(
      effects.map(({ type }) => type),
      ['reset', 'ended'],
    );
    assert.deepEqual(endOf(effects), { kind: 'limit', limit: 'transport-stalled' });
  });
});

suite('limits', () => {
  test('the errors of a peer are survived until there are too many', () => {
    const session = live();
    for (let times = 0; times < PROTOCOL_ERRORS_MAX; times++) happen(session, { type: 'ack-received', nonce: 'x' });
    assert.equal(session.phase.name, 'open');
    const effects = happen(session, { type: 'subscribe-received', kind: undefined });
    assert.deepEqual(endOf(effects), { kind: 'limit', limit: 'protocol-errors' });
  });

  test('a peer that takes no answers is cut off', () => {
    const session = exporting();
    happen(session, { type: 'changed', keys: [WEB] });
    const bad = { type: 'bad-response-received', nonce: 'n', url: 'x', refusal: REFUSAL } as const;
    for (let times = 0; times <= ANSWERS_WAITING_MAX; times++) happen(session, bad);
    assert.deepEqual(endOf(drain(session)), { kind: 'limit', limit: 'acknowledgements-waiting' });
  });

  test('more changes than a peer takes end the stream', () => {
    const session = exporting();
    const keys = Array.from({ length: CHANGES_WAITING_MAX + 1 }, (_, number) => numberedService(number));
    const effects = happen(session, { type: 'changed', keys });
    assert.deepEqual(endOf(effects), { kind: 'limit', limit: 'changes-waiting' });
  });
});

suite('the end', () => {
  test('Terminated is said, and the end is told when the transport has taken it', () => {
    const session = live();
    const said = happen(session, { type: 'terminate' });
    assert.deepEqual([sent(said), endOf(said)], [['terminated'], undefined]);
    assert.deepEqual(endOf(happen(session, { type: 'ready' })), { kind: 'terminated-here' });
  });

  test('a Terminated that could not be written was not said', () => {
    const session = live();
    happen(session, { type: 'terminate' });
    const effects = happen(session, { type: 'tick' }, AT + CLOSING_MS);
    assert.equal(effects[0]?.type, 'reset');
    assert.equal(endOf(effects)?.kind, 'transport-failed');
  });

  test('two sides that are both deleted need no more words', () => {
    const session = live();
    happen(session, { type: 'terminate' });
    happen(session, { type: 'terminated-received' });
    assert.deepEqual(endOf(happen(session, { type: 'ready' })), { kind: 'terminated-here' });
  });

  test('a stopped session says where the stream is served now', () => {
    const effects = happen(live(), { type: 'stop', reason: 'superseded', leader: '10.0.0.1:8503' });
    const [close] = effects;
    assert.equal(close?.type === 'close' ? close.status.leader : undefined, '10.0.0.1:8503');
    assert.deepEqual(endOf(effects), { kind: 'stopped', reason: 'superseded' });
  });
});
