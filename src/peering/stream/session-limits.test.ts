import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  dispatch,
  drain,
  exportingSession,
  numberedService,
  openSession,
  REFUSAL,
  responseReceived,
  START_MS,
  sentMessages,
  sessionEndIn,
  TIMES,
  WEB,
} from '../../../test/support/peering/session-fixtures.ts';
import {
  CLOSING_MS,
  PENDING_ACK_BYTES_MAX,
  PENDING_ACKS_MAX,
  PENDING_CHANGES_MAX,
  PROTOCOL_ERRORS_MAX,
  REASON_CHARACTERS_MAX,
  UNAPPLIED_BYTES_MAX,
} from './limits.ts';
import { canRead, nextTickAt } from './session/session.ts';

const SILENCE = TIMES.heartbeatTimeoutMs;

describe('the deadlines of a session', () => {
  it('send one heartbeat per interval [STREAM-77]', () => {
    const session = openSession();
    for (let beat = 1; beat <= 3; beat++) {
      const at = START_MS + beat * TIMES.heartbeatIntervalMs;
      assert.equal(nextTickAt(session), at);
      assert.deepEqual(sentMessages(dispatch(session, { type: 'tick' }, at)), ['heartbeat']);
      dispatch(session, { type: 'ready' }, at);
    }
  });

  it('end the stream after silence, which any message interrupts [STREAM-78]', () => {
    const session = openSession();
    dispatch(session, { type: 'unknown-received' }, START_MS + SILENCE - 1);
    dispatch(session, { type: 'tick' }, START_MS + SILENCE);
    assert.equal(session.phase.name, 'open');
    dispatch(session, { type: 'ready' }, START_MS + SILENCE);
    const effects = dispatch(session, { type: 'tick' }, START_MS + 2 * SILENCE - 1);
    assert.deepEqual(sessionEndIn(effects), { kind: 'timed-out', reason: 'heartbeat timeout' });
  });

  it('reset a transport at once when the silent peer does not read either', () => {
    const session = openSession();
    assert.deepEqual(sentMessages(dispatch(session, { type: 'tick' }, START_MS + SILENCE - 1)), ['heartbeat']);
    const effects = dispatch(session, { type: 'tick' }, START_MS + SILENCE);
    assert.deepEqual(
      effects.map(({ type }) => type),
      ['reset', 'ended'],
    );
    assert.deepEqual(sessionEndIn(effects), { kind: 'timed-out', reason: 'heartbeat timeout' });
  });

  it('ignore silence while reading is paused, but end the stream when an apply makes no progress [STREAM-78] [STREAM-79]', () => {
    const session = openSession();
    dispatch(session, responseReceived(WEB, 'n1', UNAPPLIED_BYTES_MAX));
    assert.equal(canRead(session), false);
    dispatch(session, { type: 'tick' }, START_MS + SILENCE - 1);
    dispatch(session, { type: 'ready' }, START_MS + SILENCE - 1);
    dispatch(session, { type: 'applied', key: WEB }, START_MS + SILENCE - 1);
    dispatch(session, { type: 'ready' }, START_MS + SILENCE - 1);
    dispatch(session, { type: 'tick' }, START_MS + SILENCE + 1);
    assert.equal(session.phase.name, 'open');
    dispatch(session, responseReceived(WEB, 'n2', UNAPPLIED_BYTES_MAX), START_MS + SILENCE + 1);
    dispatch(session, { type: 'ready' }, START_MS + SILENCE + 1);
    const effects = dispatch(session, { type: 'tick' }, START_MS + 2 * SILENCE + 1);
    assert.deepEqual(sessionEndIn(effects), { kind: 'timed-out', reason: 'apply timeout' });
  });

  it('reset a transport that accepts no messages and name the limit [STREAM-49]', () => {
    const session = exportingSession();
    dispatch(session, { type: 'changed', keys: [WEB] });
    dispatch(session, { type: 'heartbeat-received' }, START_MS + SILENCE - 1);
    const effects = dispatch(session, { type: 'tick' }, START_MS + SILENCE);
    assert.deepEqual(
      effects.map(({ type }) => type),
      ['reset', 'ended'],
    );
    assert.deepEqual(sessionEndIn(effects), { kind: 'limit', limit: 'transport-stalled' });
  });
});

describe('the limits of a session', () => {
  it('tolerate PROTOCOL_ERRORS_MAX protocol errors [STREAM-43] [STREAM-45] [STREAM-49]', () => {
    const session = openSession();
    for (let times = 0; times < PROTOCOL_ERRORS_MAX; times++) dispatch(session, { type: 'ack-received', nonce: 'x' });
    assert.equal(session.phase.name, 'open');
    const effects = dispatch(session, { type: 'subscribe-received', kind: undefined });
    assert.deepEqual(sessionEndIn(effects), { kind: 'limit', limit: 'protocol-errors' });
  });

  it('end the stream when the peer accepts no acknowledgments [STREAM-49]', () => {
    const session = exportingSession();
    dispatch(session, { type: 'changed', keys: [WEB] });
    const bad = { type: 'bad-response-received', nonce: 'n', url: 'x', refusal: REFUSAL } as const;
    for (let times = 0; times <= PENDING_ACKS_MAX; times++) dispatch(session, bad);
    assert.deepEqual(sessionEndIn(drain(session)), { kind: 'limit', limit: 'acknowledgements-waiting' });
  });

  it('end the stream when the peer accepts no long reasons [STREAM-49]', () => {
    const session = exportingSession();
    dispatch(session, { type: 'changed', keys: [WEB] });
    const refusal = { ...REFUSAL, message: 'x'.repeat(REASON_CHARACTERS_MAX) };
    const bad = { type: 'bad-response-received', nonce: 'n', url: 'x'.repeat(REASON_CHARACTERS_MAX), refusal } as const;
    const most = Math.ceil(PENDING_ACK_BYTES_MAX / (2 * REASON_CHARACTERS_MAX));
    for (let times = 0; times < most; times++) dispatch(session, bad);
    assert.equal(session.phase.name, 'open');
    dispatch(session, bad);
    assert.equal(session.phase.name, 'ending');
    assert.deepEqual(sessionEndIn(drain(session)), { kind: 'limit', limit: 'acknowledgements-waiting' });
    assert.equal(session.sendQueue.ackBytes, 0);
  });

  it('end the stream when too many changes are pending [STREAM-49]', () => {
    const session = exportingSession();
    const keys = Array.from({ length: PENDING_CHANGES_MAX + 1 }, (_, number) => numberedService(number));
    const effects = dispatch(session, { type: 'changed', keys });
    assert.deepEqual(sessionEndIn(effects), { kind: 'limit', limit: 'changes-waiting' });
  });
});

describe('the shutdown of a session', () => {
  it('sends Terminated and ends when the transport has written it [STREAM-80]', () => {
    const session = openSession();
    const effects = dispatch(session, { type: 'terminate' });
    assert.deepEqual([sentMessages(effects), sessionEndIn(effects)], [['terminated'], undefined]);
    assert.deepEqual(sessionEndIn(dispatch(session, { type: 'ready' })), { kind: 'terminated-here' });
  });

  it('ends as `transport-failed` when Terminated could not be written [STREAM-88]', () => {
    const session = openSession();
    dispatch(session, { type: 'terminate' });
    const effects = dispatch(session, { type: 'tick' }, START_MS + CLOSING_MS);
    assert.equal(effects[0]?.type, 'reset');
    assert.equal(sessionEndIn(effects)?.kind, 'transport-failed');
  });

  it('completes without a second Terminated when both sides were deleted', () => {
    const session = openSession();
    dispatch(session, { type: 'terminate' });
    dispatch(session, { type: 'terminated-received' });
    assert.deepEqual(sessionEndIn(dispatch(session, { type: 'ready' })), { kind: 'terminated-here' });
  });

  it('names the server that holds the stream now', () => {
    const effects = dispatch(openSession(), { type: 'stop', reason: 'superseded', leader: '10.0.0.1:8503' });
    const [close] = effects;
    assert.equal(close?.type === 'close' ? close.status.leader : undefined, '10.0.0.1:8503');
    assert.deepEqual(sessionEndIn(effects), { kind: 'stopped', reason: 'superseded' });
  });
});
