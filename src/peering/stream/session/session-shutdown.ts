/** Transitions to the phases `ending` and `ended`. */

import type { SessionEnd, StreamStatus } from '../contract.ts';
import { CLOSING_MS } from '../limits.ts';
import { closeStatus } from '../session-end.ts';
import { clearApplyQueue } from './apply-queue.ts';
import { clearSendQueue } from './send-queue.ts';
import type { PhaseOf, Session } from './session-state.ts';

function clearQueues(session: Session): void {
  clearSendQueue(session.sendQueue);
  clearApplyQueue(session.applyQueue);
}

/** Begins to end the session. Terminated, if needed, and the status are still sent. */
export function beginEnding(
  session: Session,
  at: number,
  reason: SessionEnd,
  status?: StreamStatus,
): PhaseOf<'ending'> {
  clearQueues(session);
  return {
    name: 'ending',
    end: reason,
    status: status ?? closeStatus(reason),
    terminated: sendsTerminated(session, reason) ? 'pending' : 'none',
    deadline: at + CLOSING_MS,
  };
}

/** Whether to send Terminated: it reports a deletion, or confirms one to the peer, which then removes its tombstone. */
const sendsTerminated = ({ side }: Session, { kind }: SessionEnd): boolean =>
  kind === 'terminated-here' || (kind === 'terminated-by-peer' && side === 'dialing');

/** Ends the session without sending anything. */
export function endNow(session: Session, reason: SessionEnd): PhaseOf<'ended'> {
  clearQueues(session);
  session.effects.push({ type: 'ended', end: reason });
  return { name: 'ended' };
}

/** Ends the session and resets the transport, which drops messages that are not written yet. */
export function tearDown(session: Session, reason: SessionEnd): PhaseOf<'ended'> {
  session.effects.push({ type: 'reset' });
  return endNow(session, reason);
}

/**
 * The final end reason when the transport closes during shutdown. A deletion whose Terminated was not written counts as
 * `transport-failed`, because the peer does not know of it.
 */
export function finalReason({ end, terminated }: PhaseOf<'ending'>, message: string): SessionEnd {
  const isUnreported = end.kind === 'terminated-here' && terminated !== 'none';
  return isUnreported ? { kind: 'transport-failed', message } : end;
}
