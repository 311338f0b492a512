import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Code } from '@connectrpc/connect';
import {
  API,
  acceptingSession,
  authorizingSession,
  dialingSession,
  dispatch,
  OPEN,
  openSession,
  REFUSAL,
  responseReceived,
  STATUS,
  type UntimedEvent,
  WEB,
} from '../../../../test/support/peering/session-fixtures.ts';
import { messageKind } from '../wire/messages.ts';
import type { Effect, EventName, PhaseName, Session } from './session-state.ts';

/** An open session. The transport is writing `web` as 00000001, and the peer's `api` is being applied. */
function busy(): Session {
  const session = openSession();
  dispatch(session, { type: 'subscribe-received', kind: 'service' });
  dispatch(session, { type: 'changed', keys: [WEB] });
  dispatch(session, responseReceived(API, 'n1'));
  return session;
}

/** Terminated is pending. */
function ending(): Session {
  const session = busy();
  dispatch(session, { type: 'terminate' });
  return session;
}

function ended(): Session {
  const session = busy();
  dispatch(session, { type: 'failed', message: 'gone' });
  return session;
}

const SESSIONS: Readonly<Record<PhaseName, () => Session>> = {
  'awaiting-open': acceptingSession,
  authorizing: authorizingSession,
  opening: dialingSession,
  open: busy,
  ending,
  ended,
};

const SAMPLES: { readonly [E in EventName]: UntimedEvent<E> } = {
  'open-received': { type: 'open-received', open: OPEN },
  'subscribe-received': { type: 'subscribe-received', kind: 'list' },
  'ack-received': { type: 'ack-received', nonce: '00000001' },
  'nack-received': { type: 'nack-received', nonce: '00000001', refusal: REFUSAL },
  'response-received': responseReceived(WEB, 'n2'),
  'bad-response-received': { type: 'bad-response-received', nonce: 'n2', url: 'x', refusal: REFUSAL },
  'heartbeat-received': { type: 'heartbeat-received' },
  'terminated-received': { type: 'terminated-received' },
  'invalid-message-received': { type: 'invalid-message-received' },
  'unknown-received': { type: 'unknown-received' },
  authorized: { type: 'authorized' },
  refused: { type: 'refused', status: STATUS },
  deleted: { type: 'deleted' },
  changed: { type: 'changed', keys: [API] },
  ready: { type: 'ready' },
  'not-sent': { type: 'not-sent', nonce: '00000001' },
  applied: { type: 'applied', key: API },
  'not-applied': { type: 'not-applied', key: API, refusal: REFUSAL },
  subscribe: { type: 'subscribe', kind: 'digest' },
  tick: { type: 'tick' },
  terminate: { type: 'terminate' },
  stop: { type: 'stop', reason: 'shutdown' },
  fault: { type: 'fault', error: new Error('x') },
  undecodable: { type: 'undecodable', status: STATUS },
  closed: { type: 'closed', status: STATUS },
  failed: { type: 'failed', message: 'gone' },
};

function inWords(effect: Effect): string {
  switch (effect.type) {
    case 'send':
      return `send ${messageKind(effect.message)}`;
    case 'send-resource':
      return `send ${effect.key.id} as ${effect.nonce}`;
    case 'enumerate':
      return `enumerate ${effect.kind}`;
    case 'apply':
      return `apply ${effect.key.id}`;
    case 'close':
      return `close with ${effect.status.code === undefined ? 'OK' : Code[effect.status.code]}`;
    case 'ended':
      return `ended ${effect.end.kind}`;
    default:
      return effect.type;
  }
}

/** Returns the sizes of all queues, and the counters. */
const sizes = ({ sendQueue, applyQueue, counters, subscriptions }: Session): Readonly<Record<string, number>> => ({
  control: sendQueue.control.length,
  acks: sendQueue.acks.size,
  changed: sendQueue.changed.size,
  unacknowledged: sendQueue.unacknowledged.size,
  subscriptions: subscriptions.size,
  unapplied: applyQueue.pending.size + applyQueue.inProgress.size,
  ...counters,
});

/** Describes the result of an event: the next phase, the effects, and the changed sizes and counters. */
function outcome(phase: PhaseName, event: EventName): string {
  const session = SESSIONS[phase]();
  assert.equal(session.phase.name, phase);
  const before = sizes(session);
  let effects: readonly Effect[];
  try {
    effects = dispatch(session, SAMPLES[event]);
  } catch (error) {
    assert.ok(error instanceof RangeError);
    return 'impossible';
  }
  const { phase: after } = session;
  const why = after.name === 'ending' ? ` (${after.end.kind})` : '';
  const mark = 'terminateRequested' in after && after.terminateRequested ? ' (to be terminated)' : '';
  // Ending clears the queues, which session-limits.test.ts covers.
  const moved =
    after.name === 'ending' || after.name === 'ended'
      ? []
      : Object.entries(sizes(session))
          .map(([name, size]) => [name, size - (before[name] ?? 0)] as const)
          .filter(([, growth]) => growth !== 0)
          .map(([name, growth]) => `${name} ${growth > 0 ? '+' : ''}${growth}`);
  return [`${after.name}${why}${mark}`, ...effects.map(inWords), ...moved].join(', ');
}

/** The expected outcome of every event in every phase. A missing one does not compile. */
const OUTCOMES: Readonly<Record<PhaseName, Readonly<Record<EventName, string>>>> = {
  'awaiting-open': {
    'open-received': 'authorizing, authorize',
    'subscribe-received': 'ending (protocol-error)',
    'ack-received': 'ending (protocol-error)',
    'nack-received': 'ending (protocol-error)',
    'response-received': 'ending (protocol-error)',
    'bad-response-received': 'ending (protocol-error)',
    'heartbeat-received': 'ending (protocol-error)',
    'terminated-received': 'ending (protocol-error)',
    'invalid-message-received': 'ending (protocol-error)',
    'unknown-received': 'ending (protocol-error)',
    authorized: 'impossible',
    refused: 'impossible',
    deleted: 'impossible',
    changed: 'awaiting-open',
    ready: 'awaiting-open',
    'not-sent': 'impossible',
    applied: 'impossible',
    'not-applied': 'impossible',
    subscribe: 'awaiting-open, subscriptions +1',
    tick: 'awaiting-open',
    terminate: 'awaiting-open (to be terminated)',
    stop: 'ending (stopped)',
    fault: 'ending (failed)',
    undecodable: 'ending (protocol-error)',
    closed: 'ended, ended closed-by-peer',
    failed: 'ended, ended transport-failed',
  },
  authorizing: {
    'open-received': 'impossible',
    'subscribe-received': 'impossible',
    'ack-received': 'impossible',
    'nack-received': 'impossible',
    'response-received': 'impossible',
    'bad-response-received': 'impossible',
    'heartbeat-received': 'impossible',
    'terminated-received': 'impossible',
    'invalid-message-received': 'impossible',
    'unknown-received': 'impossible',
    authorized: 'open, opened, control +3',
    refused: 'ending (refused)',
    deleted: 'ending (terminated-here)',
    changed: 'authorizing',
    ready: 'authorizing',
    'not-sent': 'impossible',
    applied: 'impossible',
    'not-applied': 'impossible',
    subscribe: 'authorizing, subscriptions +1',
    tick: 'authorizing',
    terminate: 'authorizing (to be terminated)',
    stop: 'ending (stopped)',
    fault: 'ending (failed)',
    undecodable: 'ending (protocol-error)',
    closed: 'ended, ended closed-by-peer',
    failed: 'ended, ended transport-failed',
  },
  opening: {
    'open-received': 'ending (protocol-error)',
    'subscribe-received': 'open, opened, enumerate list',
    'ack-received': 'open, opened, protocolErrors +1',
    'nack-received': 'open, opened, protocolErrors +1',
    'response-received': 'open, opened, apply web, unapplied +1',
    'bad-response-received': 'open, opened, acks +1, nacksSent +1',
    'heartbeat-received': 'open, opened',
    'terminated-received': 'ending (terminated-by-peer)',
    'invalid-message-received': 'open, opened, protocolErrors +1',
    'unknown-received': 'open, opened, unknownMessages +1',
    authorized: 'impossible',
    refused: 'impossible',
    deleted: 'impossible',
    changed: 'opening',
    ready: 'opening, send open, control -1',
    'not-sent': 'impossible',
    applied: 'impossible',
    'not-applied': 'impossible',
    subscribe: 'opening, control +1, subscriptions +1',
    tick: 'opening',
    terminate: 'opening (to be terminated)',
    stop: 'ending (stopped)',
    fault: 'ending (failed)',
    undecodable: 'ended, reset, ended protocol-error',
    closed: 'ended, ended refused',
    failed: 'ended, ended transport-failed',
  },
  open: {
    'open-received': 'ending (protocol-error)',
    'subscribe-received': 'open, enumerate list',
    'ack-received': 'open, acknowledged, unacknowledged -1',
    'nack-received': 'open, refused, unacknowledged -1, nacksReceived +1', // [STREAM-41]
    'response-received': 'open, apply web, unapplied +1',
    'bad-response-received': 'open, acks +1, nacksSent +1',
    'heartbeat-received': 'open',
    'terminated-received': 'ending (terminated-by-peer)',
    'invalid-message-received': 'open, protocolErrors +1', // [STREAM-43]
    'unknown-received': 'open, unknownMessages +1', // [STREAM-4]
    authorized: 'impossible',
    refused: 'impossible',
    deleted: 'impossible',
    changed: 'open, changed +1',
    ready: 'open',
    'not-sent': 'open, unacknowledged -1',
    applied: 'open, acks +1, unapplied -1',
    'not-applied': 'open, acks +1, unapplied -1, nacksSent +1',
    subscribe: 'open, control +1, subscriptions +1',
    tick: 'open',
    terminate: 'ending (terminated-here)',
    stop: 'ending (stopped)',
    fault: 'ending (failed)',
    undecodable: 'ending (protocol-error)',
    closed: 'ended, ended closed-by-peer',
    failed: 'ended, ended transport-failed',
  },
  ending: {
    'open-received': 'ending (terminated-here)',
    'subscribe-received': 'ending (terminated-here)',
    'ack-received': 'ending (terminated-here)',
    'nack-received': 'ending (terminated-here)',
    'response-received': 'ending (terminated-here)',
    'bad-response-received': 'ending (terminated-here)',
    'heartbeat-received': 'ending (terminated-here)',
    'terminated-received': 'ending (terminated-here)',
    'invalid-message-received': 'ending (terminated-here)',
    'unknown-received': 'ending (terminated-here)',
    authorized: 'ending (terminated-here)',
    refused: 'ending (terminated-here)',
    deleted: 'ending (terminated-here)',
    changed: 'ending (terminated-here)',
    ready: 'ending (terminated-here), send terminated',
    'not-sent': 'ending (terminated-here), send terminated',
    applied: 'ending (terminated-here)',
    'not-applied': 'ending (terminated-here)',
    subscribe: 'ending (terminated-here)',
    tick: 'ending (terminated-here)',
    terminate: 'ending (terminated-here)',
    stop: 'ending (terminated-here)',
    fault: 'ending (terminated-here)',
    undecodable: 'ended, ended transport-failed',
    closed: 'ended, ended transport-failed',
    failed: 'ended, ended transport-failed',
  },
  // All events are ignored.
  ended: Object.fromEntries(Object.keys(SAMPLES).map((event) => [event, 'ended'])) as Record<EventName, string>,
};

for (const phase of Object.keys(OUTCOMES) as PhaseName[]) {
  test(`the phase ${phase} handles every event as expected`, () => {
    const outcomes = Object.keys(SAMPLES).map((event) => [event, outcome(phase, event as EventName)]);
    assert.deepEqual(Object.fromEntries(outcomes), OUTCOMES[phase]);
  });
}
