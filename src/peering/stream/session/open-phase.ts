/** The transitions of a session in the phase `open`. */
import { Code } from '@connectrpc/connect';
import type { Refusal, SessionLimit, TimeoutReason } from '../contract.ts';
import { PROTOCOL_ERRORS_MAX } from '../limits.ts';
import { subscribeMessage } from '../wire/messages.ts';
import { RESOURCE_KINDS } from '../wire/resources.ts';
import { enqueue, finishApply } from './apply-queue.ts';
import { addAck, addChanged, isAwaitingAcks, takeUnacknowledged } from './send-queue.ts';
import { beginEnding, tearDown } from './session-shutdown.ts';
import { type EventOf, type Phase, type PhaseOf, queueSubscriptions, type Session } from './session-state.ts';

type OpenPhase = PhaseOf<'open'>;

const OPEN: OpenPhase = { name: 'open' };

/** Opens the session, or ends it if the peering was deleted during the handshake. */
export function goLive(session: Session, at: number, terminateRequested: boolean): Phase {
  if (terminateRequested) return beginEnding(session, at, { kind: 'terminated-here' });
  session.lastReceivedAt = at;
  session.lastHeartbeatAt = at;
  session.effects.push({ type: 'opened' });
  if (session.side === 'accepting') queueSubscriptions(session);
  return OPEN;
}

const endAtLimit = (session: Session, at: number, limit: SessionLimit | undefined): Phase =>
  limit === undefined ? OPEN : beginEnding(session, at, { kind: 'limit', limit });

/** Counts a protocol error, and ends the session after PROTOCOL_ERRORS_MAX of them [STREAM-45]. */
export function invalidMessage(session: Session, _phase: OpenPhase, { at }: { readonly at: number }): Phase {
  session.counters.protocolErrors += 1;
  return endAtLimit(session, at, session.counters.protocolErrors > PROTOCOL_ERRORS_MAX ? 'protocol-errors' : undefined);
}

/** Counts the message. It is not a protocol error, because later versions may add kinds of message. */
export function unknownMessage(session: Session): Phase {
  session.counters.unknownMessages += 1;
  return OPEN;
}

/**
 * Sends all resources of the kind [STREAM-37]. A repeated subscription sends them again, but counts as a protocol
 * error, so that a peer cannot cause unlimited traffic with small requests.
 */
export function peerSubscribed(session: Session, phase: OpenPhase, event: EventOf<'subscribe-received'>): Phase {
  const { kind } = event;
  if (kind === undefined) return invalidMessage(session, phase, event);
  const isRepeated = session.sendQueue.peerSubscriptions.has(kind);
  session.sendQueue.peerSubscriptions.add(kind);
  session.effects.push({ type: 'enumerate', kind });
  return isRepeated ? invalidMessage(session, phase, event) : OPEN;
}

export function acknowledged(session: Session, phase: OpenPhase, event: EventOf<'ack-received'>): Phase {
  const sent = takeUnacknowledged(session.sendQueue, event.nonce, event.at);
  if (sent === undefined) return invalidMessage(session, phase, event);
  session.effects.push({ type: 'acknowledged', key: sent.key, afterMs: event.at - sent.sentAt });
  return OPEN;
}

/** Handles a NACK. The resource is sent again only when it changes [STREAM-41]. */
export function negativelyAcknowledged(session: Session, phase: OpenPhase, event: EventOf<'nack-received'>): Phase {
  const sent = takeUnacknowledged(session.sendQueue, event.nonce, event.at);
  if (sent === undefined) return invalidMessage(session, phase, event);
  session.counters.nacksReceived += 1;
  session.effects.push({ type: 'refused', key: sent.key, refusal: event.refusal });
  return OPEN;
}

export function responseReceived(session: Session, _phase: OpenPhase, event: EventOf<'response-received'>): Phase {
  enqueue(session.applyQueue, event.response);
  return OPEN;
}

export function badResponse(session: Session, _phase: OpenPhase, event: EventOf<'bad-response-received'>): Phase {
  const { nonce, url, refusal, at } = event;
  session.counters.nacksSent += 1;
  return endAtLimit(session, at, addAck(session.sendQueue, { nonce, url, refusal }));
}

export function changed(session: Session, _phase: OpenPhase, { keys, at }: EventOf<'changed'>): Phase {
  let limit: SessionLimit | undefined;
  for (const key of keys) limit ??= addChanged(session.sendQueue, key);
  return endAtLimit(session, at, limit);
}

export function notSent(session: Session, _phase: OpenPhase, { nonce }: EventOf<'not-sent'>): Phase {
  session.sendQueue.unacknowledged.delete(nonce);
  session.transportReady = true;
  return OPEN;
}

/** Acknowledges an applied or rejected response, and the older ones that it replaced in the queue. */
function acknowledge(session: Session, event: EventOf<'applied' | 'not-applied'>, refusal: Refusal | undefined): Phase {
  const { key, at } = event;
  const { nonces } = finishApply(session.applyQueue, key, refusal === undefined, at);
  if (refusal !== undefined) session.counters.nacksSent += nonces.length;
  const { url } = RESOURCE_KINDS[key.kind];
  let limit: SessionLimit | undefined;
  for (const nonce of nonces) limit ??= addAck(session.sendQueue, { nonce, url, refusal });
  return endAtLimit(session, at, limit);
}

export const applied = (session: Session, _phase: OpenPhase, event: EventOf<'applied'>): Phase =>
  acknowledge(session, event, undefined);

export const notApplied = (session: Session, _phase: OpenPhase, event: EventOf<'not-applied'>): Phase =>
  acknowledge(session, event, event.refusal);

/** Subscribes to one more kind. An accepting session that is not open yet sends the request when it opens. */
export function subscribe(session: Session, phase: Phase, { kind }: EventOf<'subscribe'>): Phase {
  if (session.subscriptions.has(kind)) return phase;
  session.subscriptions.add(kind);
  if (phase.name !== 'awaiting-open' && phase.name !== 'authorizing') {
    session.sendQueue.control.push(subscribeMessage(session.peerId, kind));
  }
  return phase;
}

/** The deadlines of an open session, in monotonic milliseconds. Undefined where none applies. */
interface OpenDeadlines {
  readonly heartbeat: number | undefined;
  readonly silence: number | undefined;
  readonly apply: number | undefined;
  readonly transport: number | undefined;
  readonly acknowledgment: number | undefined;
}

/**
 * Any received message shows that the peer is alive, not only a heartbeat. The silence deadline does not apply while
 * this side has paused reading. The apply deadline then detects an apply that makes no progress.
 */
function openDeadlines(session: Session): OpenDeadlines {
  const { times, applyQueue, sendQueue } = session;
  const { heartbeatIntervalMs: interval, heartbeatTimeoutMs: timeout } = times;
  return {
    heartbeat: sendQueue.heartbeatDue ? undefined : session.lastHeartbeatAt + interval,
    silence: session.wasReading ? session.lastReceivedAt + timeout : undefined,
    apply: applyQueue.inProgress.size > 0 ? applyQueue.lastProgressAt + timeout : undefined,
    transport: session.transportReady ? undefined : session.lastSentAt + timeout,
    acknowledgment: isAwaitingAcks(sendQueue) ? sendQueue.lastAckAt + timeout : undefined,
  };
}

export function nextOpenDeadline(session: Session): number {
  const { heartbeat, silence, apply, transport, acknowledgment } = openDeadlines(session);
  const never = Number.POSITIVE_INFINITY;
  return Math.min(heartbeat ?? never, silence ?? never, apply ?? never, transport ?? never, acknowledgment ?? never);
}

export function openTick(session: Session, _phase: OpenPhase, { at }: EventOf<'tick'>): Phase {
  const deadlines = openDeadlines(session);
  const isOver = (deadline: number | undefined): boolean => deadline !== undefined && deadline <= at;
  const timedOut = (reason: TimeoutReason): Phase => beginEnding(session, at, { kind: 'timed-out', reason });
  if (isOver(deadlines.silence)) {
    // A silent peer that has also stopped reading is disconnected at once. Otherwise the peering would be shown as
    // active until CLOSING_MS has passed.
    return session.transportReady
      ? timedOut('heartbeat timeout')
      : tearDown(session, { kind: 'timed-out', reason: 'heartbeat timeout' });
  }
  if (isOver(deadlines.apply)) return timedOut('apply timeout');
  // A stalled transport would not accept a status either.
  if (isOver(deadlines.transport)) return tearDown(session, { kind: 'limit', limit: 'transport-stalled' });
  if (isOver(deadlines.acknowledgment)) return endAtLimit(session, at, 'responses-unacknowledged');
  if (isOver(deadlines.heartbeat)) {
    session.sendQueue.heartbeatDue = true;
    session.lastHeartbeatAt = at;
  }
  return OPEN;
}

/** Ends the session. Unlike other protocol errors, an unexpected Open is not tolerated [STREAM-30]. */
export function duplicateOpen(session: Session, _phase: Phase, { at }: EventOf<'open-received'>): Phase {
  const status = { code: Code.InvalidArgument, message: 'Open is only the first message, and of the dialing side' };
  return beginEnding(session, at, { kind: 'protocol-error', status });
}
