import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
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
  CLOSING_MS,
  PENDING_ACKS_MAX,
  PENDING_CHANGES_MAX,
  PROTOCOL_ERRORS_MAX,
  UNAPPLIED_BYTES_MAX,
} from './limits.ts';
import { canRead, nextTickAt } from './session/session.ts';

const SILENCE = TIMES.heartbeatTimeoutMs;

describe('the deadlines of a session', () => {
  it('send one heartbeat per interval', () => {
    const session = live();
    for (let beat = 1; beat <= 3; beat++) {
      const at = AT + beat * TIMES.heartbeatIntervalMs;
      assert.equal(nextTickAt(session), at);
      assert.deepEqual(sent(happen(session, { type: 'tick' }, at)), ['heartbeat']);
      happen(session, { type: 'ready' }, at);
    }
  });

  it('end the stream after silence, which any message interrupts', () => {
    const session = live();
    happen(session, { type: 'unknown-received' }, AT + SILENCE - 1);
    happen(session, { type: 'tick' }, AT + SILENCE);
    assert.equal(session.phase.name, 'open');
    happen(session, { type: 'ready' }, AT + SILENCE);
    const effects = happen(session, { type: 'tick' }, AT + 2 * SILENCE - 1);
    assert.deepEqual(endOf(effects), { kind: 'timed-out', reason: 'heartbeat timeout' });
  });

  it('reset a transport at once when the silent peer does not read either', () => {
    const session = live();
    assert.deepEqual(sent(happen(session, { type: 'tick' }, AT + SILENCE - 1)), ['heartbeat']);
    const effects = happen(session, { type: 'tick' }, AT + SILENCE);
    assert.deepEqual(
      effects.map(({ type }) => type),
      ['reset', 'ended'],
    );
    assert.deepEqual(endOf(effects), { kind: 'timed-out', reason: 'heartbeat timeout' });
  });

  it('ignore silence while reading is paused, but end the stream when an apply makes no progress', () => {
    const session = live();
    happen(session, response(WEB, 'n1', UNAPPLIED_BYTES_MAX));
    assert.equal(canRead(session), false);
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

  it('reset a transport that accepts no messages and name the limit', () => {
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

describe('the limits of a session', () => {
  it('tolerate PROTOCOL_ERRORS_MAX protocol errors', () => {
    const session = live();
    for (let times = 0; times < PROTOCOL_ERRORS_MAX; times++) happen(session, { type: 'ack-received', nonce: 'x' });
    assert.equal(session.phase.name, 'open');
    const effects = happen(session, { type: 'subscribe-received', kind: undefined });
    assert.deepEqual(endOf(effects), { kind: 'limit', limit: 'protocol-errors' });
  });

  it('end the stream when the peer accepts no acknowledgements', () => {
    const session = exporting();
    happen(session, { type: 'changed', keys: [WEB] });
    const bad = { type: 'bad-response-received', nonce: 'n', url: 'x', refusal: REFUSAL } as const;
    for (let times = 0; times <= PENDING_ACKS_MAX; times++) happen(session, bad);
    assert.deepEqual(endOf(drain(session)), { kind: 'limit', limit: 'acknowledgements-waiting' });
  });

  it('end the stream when too many changes are pending', () => {
    const session = exporting();
    const keys = Array.from({ length: PENDING_CHANGES_MAX + 1 }, (_, number) => numberedService(number));
    const effects = happen(session, { type: 'changed', keys });
    assert.deepEqual(endOf(effects), { kind: 'limit', limit: 'changes-waiting' });
  });
});

describe('the shutdown of a session', () => {
  it('sends Terminated and ends when the transport has written it', () => {
    const session = live();
    const effects = happen(session, { type: 'terminate' });
    assert.deepEqual([sent(effects), endOf(effects)], [['terminated'], undefined]);
    assert.deepEqual(endOf(happen(session, { type: 'ready' })), { kind: 'terminated-here' });
  });

  it('ends as `transport-failed` when Terminated could not be written', () => {
    const session = live();
    happen(session, { type: 'terminate' });
    const effects = happen(session, { type: 'tick' }, AT + CLOSING_MS);
    assert.equal(effects[0]?.type, 'reset');
    assert.equal(endOf(effects)?.kind, 'transport-failed');
  });

  it('completes without a second Terminated when both sides were deleted', () => {
    const session = live();
    happen(session, { type: 'terminate' });
    happen(session, { type: 'terminated-received' });
    assert.deepEqual(endOf(happen(session, { type: 'ready' })), { kind: 'terminated-here' });
  });

  it('names the server that holds the stream now', () => {
    const effects = happen(live(), { type: 'stop', reason: 'superseded', leader: '10.0.0.1:8503' });
    const [close] = effects;
    assert.equal(close?.type === 'close' ? close.status.leader : undefined, '10.0.0.1:8503');
    assert.deepEqual(endOf(effects), { kind: 'stopped', reason: 'superseded' });
  });
});
