/** What a live session does with each thing that happens to it. */
import { Code } from '@connectrpc/connect';
import type { Refusal, SessionEnd, SessionLimit } from '../contract.ts';
import { PROTOCOL_ERRORS_MAX } from '../limits.ts';
import { subscribeMessage } from '../wire/messages.ts';
import { RESOURCE_KINDS } from '../wire/resources.ts';
import { enqueue, finish } from './apply-queue.ts';
import { addAnswer, addChanged, isHeldBack, settle } from './send-queue.ts';
import { end, tearDown } from './session-shutdown.ts';
import type { EventOf, Phase, PhaseOf, Session } from './session-state.ts';

type OpenPhase = PhaseOf<'open'>;

const OPEN: OpenPhase = { name: 'open' };

/** Begins the live part; a peering that was deleted meanwhile says so instead. */
export function goLive(session: Session, at: number, terminated: boolean): Phase {
  if (terminated) return end(session, at, { kind: 'terminated-here' });
  session.heardAt = at;
  session.heartbeatAt = at;
  session.effects.push({ type: 'opened' });
  if (session.side === 'dialing') return OPEN;
  for (const kind of session.wants) session.sending.control.push(subscribeMessage(session.peerId, kind));
  return OPEN;
}

const limited = (session: Session, at: number, limit: SessionLimit | undefined): Phase =>
  limit === undefined ? OPEN : end(session, at, { kind: 'limit', limit });

/** Survives what makes no sense, until there is too much of it: see PROTOCOL_ERRORS_MAX. */
export function protocolError(session: Session, _phase: OpenPhase, { at }: { readonly at: number }): Phase {
  session.counters.protocolErrors += 1;
  return limited(session, at, session.counters.protocolErrors > PROTOCOL_ERRORS_MAX ? 'protocol-errors' : undefined);
}

/** Counted, and no error: a later version may have more kinds of message. */
export function unknownMessage(session: Session): Phase {
  session.counters.unknownMessages += 1;
  return OPEN;
}

/**
 * A second subscription has everything sent again, which does no harm, and is counted as an error, so that a few bytes a
 * time cannot have it sent for ever.
 */
export function subscribed(session: Session, phase: OpenPhase, event: EventOf<'subscribe-received'>): Phase {
  const { kind } = event;
  if (kind === undefined) return protocolError(session, phase, event);
  const again = session.sending.subscribed.has(kind);
  session.sending.subscribed.add(kind);
  session.effects.push({ type: 'enumerate', kind });
  return again ? protocolError(session, phase, event) : OPEN;
}

/** ACK. */
export function acknowledged(session: Session, phase: OpenPhase, event: EventOf<'ack-received'>): Phase {
  const sent = settle(session.sending, event.nonce, event.at);
  if (sent === undefined) return protocolError(session, phase, event);
  session.effects.push({ type: 'acknowledged', key: sent.key, afterMs: event.at - sent.sentAt });
  return OPEN;
}

/** NACK. What was refused is not sent again before it changes: the same would be refused for the same reason. */
export function refusedByPeer(session: Session, phase: OpenPhase, event: EventOf<'nack-received'>): Phase {
  const sent = settle(session.sending, event.nonce, event.at);
  if (sent === undefined) return protocolError(session, phase, event);
  session.counters.nacksReceived += 1;
  session.effects.push({ type: 'refused', key: sent.key, refusal: event.refusal });
  return OPEN;
}

export function responseReceived(session: Session, _phase: OpenPhase, event: EventOf<'response-received'>): Phase {
  enqueue(session.applying, event.response);
  return OPEN;
}

export function badResponse(session: Session, _phase: OpenPhase, event: EventOf<'bad-response-received'>): Phase {
  const { nonce, url, refusal, at } = event;
  session.counters.nacksSent += 1;
  return limited(session, at, addAnswer(session.sending, { nonce, url, refusal }));
}

export function changed(session: Session, _phase: OpenPhase, { keys, at }: EventOf<'changed'>): Phase {
  let limit: SessionLimit | undefined;
  for (const key of keys) limit ??= addChanged(session.sending, key);
  return limited(session, at, limit);
}

/** The transport still waits for a message. */
export function notSent(session: Session, _phase: OpenPhase, { nonce }: EventOf<'not-sent'>): Phase {
  session.sending.unacknowledged.delete(nonce);
  session.idle = true;
  return OPEN;
}

/** Answers an application and everything that it overtook. */
function answer(session: Session, event: EventOf<'applied' | 'not-applied'>, refusal: Refusal | undefined): Phase {
  const { key, at } = event;
  const { nonces } = finish(session.applying, key, refusal === undefined, at);
  if (refusal !== undefined) session.counters.nacksSent += nonces.length;
  const { url } = RESOURCE_KINDS[key.kind];
  let limit: SessionLimit | undefined;
  for (const nonce of nonces) limit ??= addAnswer(session.sending, { nonce, url, refusal });
  return limited(session, at, limit);
}

export const applied = (session: Session, _phase: OpenPhase, event: EventOf<'applied'>): Phase =>
  answer(session, event, undefined);

export const notApplied = (session: Session, _phase: OpenPhase, event: EventOf<'not-applied'>): Phase =>
  answer(session, event, event.refusal);

export function wanted(session: Session, phase: Phase, { kind }: EventOf<'wanted'>): Phase {
  if (session.wants.has(kind)) return phase;
  session.wants.add(kind);
  if (phase.name !== 'awaiting-open' && phase.name !== 'authorizing') {
    session.sending.control.push(subscribeMessage(session.peerId, kind));
  }
  return phase;
}

/** Times at which something is due in a live session; undefined: not now. */
interface OpenDeadlines {
  readonly heartbeat: number | undefined;
  readonly silence: number | undefined;
  readonly apply: number | undefined;
  readonly transport: number | undefined;
  readonly acknowledgement: number | undefined;
}

/**
 * Any message is life: heartbeats are for when there is nothing else to say, and to end a stream that delivers would throw
 * away what it delivers. While reading is paused by us, silence says nothing about the peer; an application that stands
 * still does not go unnoticed all the same.
 */
function openDeadlines(session: Session): OpenDeadlines {
  const { times, applying, sending } = session;
  const { heartbeatIntervalMs: interval, heartbeatTimeoutMs: timeout } = times;
  return {
    heartbeat: sending.heartbeat ? undefined : session.heartbeatAt + interval,
    silence: session.reading ? session.heardAt + timeout : undefined,
    apply: applying.applying.size > 0 ? applying.progressAt + timeout : undefined,
    transport: session.idle ? undefined : session.givenAt + timeout,
    acknowledgement: isHeldBack(sending) ? sending.answeredAt + timeout : undefined,
  };
}

/** When a live session wants its next tick. */
export function nextOpenDeadline(session: Session): number {
  const { heartbeat, silence, apply, transport, acknowledgement } = openDeadlines(session);
  const never = Number.POSITIVE_INFINITY;
  return Math.min(heartbeat ?? never, silence ?? never, apply ?? never, transport ?? never, acknowledgement ?? never);
}

export function openTick(session: Session, _phase: OpenPhase, { at }: EventOf<'tick'>): Phase {
  const deadlines = openDeadlines(session);
  const isOver = (deadline: number | undefined): boolean => deadline !== undefined && deadline <= at;
  const timedOut = (reason: Extract<SessionEnd, { kind: 'timed-out' }>['reason']): Phase =>
    end(session, at, { kind: 'timed-out', reason });
  if (isOver(deadlines.silence)) {
    // Who neither sends nor takes anything is not waited for: until the end is known, the peering would count as live.
    return session.idle
      ? timedOut('heartbeat timeout')
      : tearDown(session, { kind: 'timed-out', reason: 'heartbeat timeout' });
  }
  if (isOver(deadlines.apply)) return timedOut('apply timeout');
  // It would not take a status either.
  if (isOver(deadlines.transport)) return tearDown(session, { kind: 'limit', limit: 'transport-stalled' });
  if (isOver(deadlines.acknowledgement)) return limited(session, at, 'responses-unacknowledged');
  if (isOver(deadlines.heartbeat)) {
    session.sending.heartbeat = true;
    session.heartbeatAt = at;
  }
  return OPEN;
}

/** Ends a live or opening session whose peer broke the one rule that cannot be survived. */
export function openAgain(session: Session, _phase: Phase, { at }: EventOf<'open-received'>): Phase {
  const status = { code: Code.InvalidArgument, message: 'Open is only the first message, and of the dialing side' };
  return end(session, at, { kind: 'protocol-error', status });
}
