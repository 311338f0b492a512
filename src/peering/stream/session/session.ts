/**
 * The session of a peer stream as a state machine, for both sides. A step takes an event and returns the effects that
 * the driver (`drive-session.ts`) performs in order. The machine uses no socket, promise, or clock. `session-table.ts`
 * holds its transitions.
 *
 * Goals: reading, applying, and sending never wait for each other, and every queue has a limit. A session that reaches
 * a limit ends with the limit's name. A peer that follows the protocol then opens another stream.
 *
 * Rejected alternatives:
 * - A phase per direction. The two sides differ only until the stream is open.
 * - Sending only after the peer has subscribed to everything. It may never do so.
 * - Sending a resource again only after its previous version was acknowledged. A slow peer would get changes late.
 *
 * Traps: the accepting side must not read between the Open and its authorization; see `canRead`. After the process was
 * suspended for longer than the heartbeat timeout, the tick precedes the unread messages, so the stream ends. The peer
 * has ended it by then as well.
 */

import { terminatedMessage } from '../wire/messages.ts';
import { isFull, startNext } from './apply-queue.ts';
import { nextOpenDeadline } from './open-phase.ts';
import { takeNext } from './send-queue.ts';
import type { Effect, Event, Session } from './session-state.ts';
import { transition } from './session-table.ts';

/** Handles one event. @throws RangeError when the driver breaks the contract */
export function step(session: Session, event: Event): readonly Effect[] {
  session.effects = [];
  if (event.type.endsWith('-received')) session.lastReceivedAt = event.at;
  session.phase = transition(session, session.phase, event);
  startApplying(session, event.at);
  sendNext(session, event.at);
  const isReading = canRead(session);
  if (isReading && !session.wasReading) session.lastReceivedAt = event.at;
  session.wasReading = isReading;
  return session.effects;
}

/** Whether the driver may read the next message. A read that is already pending may still complete. */
export function canRead({ phase, applyQueue }: Session): boolean {
  if (phase.name === 'authorizing' || phase.name === 'ended' || isFull(applyQueue)) return false;
  // Reading the status of a call ends the call, and Terminated could not be sent any more.
  return phase.name !== 'ending' || phase.end.kind !== 'terminated-by-peer' || phase.terminated === 'none';
}

/** Returns when the next tick is due, in monotonic milliseconds. Infinity if none is. */
export function nextTickAt(session: Session): number {
  const { phase } = session;
  switch (phase.name) {
    case 'awaiting-open':
    case 'authorizing':
    case 'opening':
    case 'ending':
      return phase.deadline;
    case 'open':
      return nextOpenDeadline(session);
    case 'ended':
      return Number.POSITIVE_INFINITY;
  }
}

function startApplying(session: Session, at: number): void {
  if (session.phase.name !== 'open') return;
  const { applyQueue } = session;
  for (let next = startNext(applyQueue, at); next !== undefined; next = startNext(applyQueue, at)) {
    const { key, content } = next;
    session.effects.push({ type: 'apply', key, content, first: key.kind === 'list' && !applyQueue.listApplied });
  }
}

/** Gives the next message to the transport if it has asked for one. */
function sendNext(session: Session, at: number): void {
  if (!session.transportReady) return;
  const effect = nextOutgoing(session, at);
  if (effect === undefined) return;
  session.transportReady = false;
  session.lastSentAt = at;
  session.effects.push(effect);
  if (effect.type === 'close' && session.phase.name === 'ending') {
    session.effects.push({ type: 'ended', end: session.phase.end });
    session.phase = { name: 'ended' };
  }
}

function nextOutgoing(session: Session, at: number): Effect | undefined {
  const { phase, sendQueue, peerId } = session;
  switch (phase.name) {
    case 'opening':
    case 'open':
      return takeNext(sendQueue, peerId, at);
    case 'ending':
      if (phase.terminated === 'none') return { type: 'close', status: phase.status };
      session.phase = { ...phase, terminated: 'in-flight' };
      return { type: 'send', message: terminatedMessage() };
    case 'awaiting-open':
    case 'authorizing':
    case 'ended':
      return undefined;
  }
}
