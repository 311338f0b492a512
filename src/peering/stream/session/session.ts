/**
 * The session of a peer stream, for both of its sides, as a machine: a step takes an event and gives the effects that the
 * driver (`drive-session.ts`) brings about, in order. It knows no socket, promise or clock. Its rules, phases by events,
 * stand in one table in `session-rules.ts`.
 *
 * Goals: reading, applying and sending never wait for each other, and every queue has a bound. Where the two collide the
 * stream ends and says which bound it was; a peer that keeps to the protocol then opens another.
 *
 * Refused: a phase for each direction (the two sides differ only until the stream is open); to hold back what the peer has
 * subscribed to until it has subscribed to everything (it may never); to send a resource again only when its last version
 * was acknowledged (a peer that answers late would get news late).
 *
 * Traps: the accepting side must not read between Open and its authorization, `mayRead` says so. When a process was stopped
 * for longer than the heartbeat timeout, its tick comes before what it could read: the stream ends, as it has at the peer.
 */

import { terminatedMessage } from '../wire/messages.ts';
import { beginNext, isFull } from './apply-queue.ts';
import { takeNext } from './send-queue.ts';
import { nextOpenDeadline } from './session-open.ts';
import type { Effect, Event, Session } from './session-state.ts';
import { react } from './session-table.ts';

/** Lets something happen to a session. @throws RangeError when the driver breaks the contract */
export function step(session: Session, event: Event): readonly Effect[] {
  session.effects = [];
  if (event.type.endsWith('-received')) session.heardAt = event.at;
  session.phase = react(session, session.phase, event);
  beginApplications(session, event.at);
  give(session, event.at);
  const reading = mayRead(session);
  if (reading && !session.reading) session.heardAt = event.at;
  session.reading = reading;
  return session.effects;
}

/** Whether the next message may be read now. A message that is being waited for already may still come. */
export function mayRead({ phase, applying }: Session): boolean {
  if (phase.name === 'authorizing' || phase.name === 'ended' || isFull(applying)) return false;
  // Whoever reads the status of a call has ended it, and takes no last word any more.
  return phase.name !== 'ending' || phase.end.kind !== 'terminated-by-peer' || phase.farewell === 'none';
}

/** When the session wants a tick, in monotonic milliseconds; Infinity for never. */
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

function beginApplications(session: Session, at: number): void {
  if (session.phase.name !== 'open') return;
  const { applying } = session;
  for (let next = beginNext(applying, at); next !== undefined; next = beginNext(applying, at)) {
    const { key, content } = next;
    session.effects.push({ type: 'apply', key, content, first: key.kind === 'list' && !applying.listApplied });
  }
}

/** Gives the transport what it has asked for, if there is anything. */
function give(session: Session, at: number): void {
  if (!session.idle) return;
  const effect = nextOutgoing(session, at);
  if (effect === undefined) return;
  session.idle = false;
  session.givenAt = at;
  session.effects.push(effect);
  if (effect.type === 'close' && session.phase.name === 'ending') {
    session.effects.push({ type: 'ended', end: session.phase.end });
    session.phase = { name: 'ended' };
  }
}

function nextOutgoing(session: Session, at: number): Effect | undefined {
  const { phase, sending, peerId } = session;
  switch (phase.name) {
    case 'opening':
    case 'open':
      return takeNext(sending, peerId, at);
    case 'ending':
      if (phase.farewell === 'none') return { type: 'close', status: phase.status };
      session.phase = { ...phase, farewell: 'given' };
      return { type: 'send', message: terminatedMessage() };
    case 'awaiting-open':
    case 'authorizing':
    case 'ended':
      return undefined;
  }
}
