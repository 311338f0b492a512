/** The last steps of a session. */

import type { SessionEnd, StreamStatus } from '../contract.ts';
import { CLOSING_MS } from '../limits.ts';
import { closeStatus } from '../session-end.ts';
import { discard as discardReceived } from './apply-queue.ts';
import { discard as discardUnsent } from './send-queue.ts';
import type { PhaseOf, Session } from './session-state.ts';

function discardQueues(session: Session): void {
  discardUnsent(session.sending);
  discardReceived(session.applying);
}

/** Begins to end: the transport still takes the status. */
export function end(session: Session, at: number, why: SessionEnd, status?: StreamStatus): PhaseOf<'ending'> {
  discardQueues(session);
  return {
    name: 'ending',
    end: why,
    status: status ?? closeStatus(why),
    farewell: saysTerminated(session, why) ? 'waiting' : 'none',
    deadline: at + CLOSING_MS,
  };
}

/** To tell the other side of a deletion, or that we have heard of it: then an accepting side can forget us. */
const saysTerminated = ({ side }: Session, { kind }: SessionEnd): boolean =>
  kind === 'terminated-here' || (kind === 'terminated-by-peer' && side === 'dialing');

/** Ends now: there is nobody left to say anything to. */
export function conclude(session: Session, why: SessionEnd): PhaseOf<'ended'> {
  discardQueues(session);
  session.effects.push({ type: 'ended', end: why });
  return { name: 'ended' };
}

/** Ends now, whatever the transport still holds. */
export function tearDown(session: Session, why: SessionEnd): PhaseOf<'ended'> {
  session.effects.push({ type: 'reset' });
  return conclude(session, why);
}

/** What a session that was ending has come to when the transport went away: a deletion that was not written was not told. */
export function comeTo(phase: PhaseOf<'ending'>, message: string): SessionEnd {
  const untold = phase.end.kind === 'terminated-here' && phase.farewell !== 'none';
  return untold ? { kind: 'transport-failed', message } : phase.end;
}
