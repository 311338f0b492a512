/**
 * What a session does in each phase with each thing that can happen: one table, in which a cell that nobody thought about
 * does not compile. What the phases and events mean is in `session-state.ts`, how a step goes on from here in `session.ts`.
 */
import { Code } from '@connectrpc/connect';
import { closeStatus } from '../session-end.ts';
import {
  acknowledged,
  applied,
  badResponse,
  changed,
  goLive,
  notApplied,
  notSent,
  openAgain,
  openTick,
  protocolError,
  refusedByPeer,
  responseReceived,
  subscribed,
  unknownMessage,
  wanted,
} from './session-open.ts';
import { comeTo, conclude, end, tearDown } from './session-shutdown.ts';
import type { Event, EventName, EventOf, Phase, PhaseName, PhaseOf, Session } from './session-state.ts';

/** What happens in phase `P` on event `E`: changes queues, asks for effects, gives the next phase. */
type Rule<P extends PhaseName, E extends EventName> = (session: Session, phase: PhaseOf<P>, event: EventOf<E>) => Phase;

type Rules = { readonly [P in PhaseName]: { readonly [E in EventName]: Rule<P, E> } };

const stay = (_session: Session, phase: Phase): Phase => phase;

/** The driver has broken its side of the contract. */
const impossible = (_session: Session, phase: Phase, event: Event): never => {
  throw new RangeError(`${event.type} cannot happen to a session that is ${phase.name}`);
};

const ready = (session: Session, phase: Phase): Phase => {
  session.idle = true;
  return phase;
};

const notOpenFirst = (session: Session, _phase: Phase, { at }: Event): Phase =>
  end(session, at, {
    kind: 'protocol-error',
    status: { code: Code.InvalidArgument, message: 'the first message must be Open' },
  });

const stop = (session: Session, _phase: Phase, { at, reason, leader }: EventOf<'stop'>): Phase =>
  leader === undefined
    ? end(session, at, { kind: 'stopped', reason })
    : end(
        session,
        at,
        { kind: 'stopped', reason },
        { code: Code.FailedPrecondition, message: closeStatus({ kind: 'stopped', reason }).message, leader },
      );

const fault = (session: Session, _phase: Phase, { at, error }: EventOf<'fault'>): Phase =>
  end(session, at, { kind: 'failed', error });

const undecodable = (session: Session, _phase: Phase, { at, status }: EventOf<'undecodable'>): Phase => {
  const why = { kind: 'protocol-error', status } as const;
  // A call whose answer cannot be read asks for nothing more, and the dialing side has no status to give.
  return session.side === 'dialing' ? tearDown(session, why) : end(session, at, why);
};

const closed = (session: Session, _phase: Phase, { status }: EventOf<'closed'>): Phase =>
  conclude(session, { kind: 'closed-by-peer', status });

const failed = (session: Session, _phase: Phase, { message }: EventOf<'failed'>): Phase =>
  conclude(session, { kind: 'transport-failed', message });

const terminatedByPeer = (session: Session, _phase: Phase, { at }: Event): Phase =>
  end(session, at, { kind: 'terminated-by-peer' });

const terminateLater = (_session: Session, phase: PhaseOf<'awaiting-open' | 'authorizing' | 'opening'>): Phase => ({
  ...phase,
  terminated: true,
});

const handshakeTick = (
  session: Session,
  phase: PhaseOf<'awaiting-open' | 'authorizing' | 'opening'>,
  { at }: Event,
): Phase => (at < phase.deadline ? phase : end(session, at, { kind: 'timed-out', reason: 'handshake timeout' }));

/** The first word of the accepting side: it has authorized us. The word itself is then as good as any other. */
const firstWord = (session: Session, phase: PhaseOf<'opening'>, event: Event): Phase =>
  react(session, goLive(session, event.at, phase.terminated), event);

const gone = (session: Session, phase: PhaseOf<'ending'>, message: string): Phase =>
  conclude(session, comeTo(phase, message));

const RULES: Rules = {
  'awaiting-open': {
    'open-received': (session, phase, { open }) => {
      session.effects.push({ type: 'authorize', open });
      return { ...phase, name: 'authorizing' };
    },
    'subscribe-received': notOpenFirst,
    'ack-received': notOpenFirst,
    'nack-received': notOpenFirst,
    'response-received': notOpenFirst,
    'bad-response-received': notOpenFirst,
    'heartbeat-received': notOpenFirst,
    'terminated-received': notOpenFirst,
    'nonsense-received': notOpenFirst,
    'unknown-received': notOpenFirst,
    authorized: impossible,
    refused: impossible,
    deleted: impossible,
    changed: stay,
    ready,
    'not-sent': impossible,
    applied: impossible,
    'not-applied': impossible,
    wanted,
    tick: handshakeTick,
    terminate: terminateLater,
    stop,
    fault,
    undecodable,
    closed,
    failed,
  },
  authorizing: {
    'open-received': impossible,
    'subscribe-received': impossible,
    'ack-received': impossible,
    'nack-received': impossible,
    'response-received': impossible,
    'bad-response-received': impossible,
    'heartbeat-received': impossible,
    'terminated-received': impossible,
    'nonsense-received': impossible,
    'unknown-received': impossible,
    authorized: (session, { terminated }, { at }) => goLive(session, at, terminated),
    refused: (session, _phase, { at, status }) => end(session, at, { kind: 'refused', status }),
    deleted: (session, _phase, { at }) => end(session, at, { kind: 'terminated-here' }),
    changed: stay,
    ready,
    'not-sent': impossible,
    applied: impossible,
    'not-applied': impossible,
    wanted,
    tick: handshakeTick,
    terminate: terminateLater,
    stop,
    fault,
    undecodable,
    closed,
    failed,
  },
  opening: {
    'open-received': openAgain,
    'subscribe-received': firstWord,
    'ack-received': firstWord,
    'nack-received': firstWord,
    'response-received': firstWord,
    'bad-response-received': firstWord,
    'heartbeat-received': firstWord,
    'terminated-received': terminatedByPeer,
    'nonsense-received': firstWord,
    'unknown-received': firstWord,
    authorized: impossible,
    refused: impossible,
    deleted: impossible,
    changed: stay,
    ready,
    'not-sent': impossible,
    applied: impossible,
    'not-applied': impossible,
    wanted,
    tick: handshakeTick,
    terminate: terminateLater,
    stop,
    fault,
    undecodable,
    closed: (session, phase, event) =>
      event.status.code === undefined
        ? closed(session, phase, event)
        : conclude(session, { kind: 'refused', status: event.status }),
    failed,
  },
  open: {
    'open-received': openAgain,
    'subscribe-received': subscribed,
    'ack-received': acknowledged,
    'nack-received': refusedByPeer,
    'response-received': responseReceived,
    'bad-response-received': badResponse,
    'heartbeat-received': stay,
    'terminated-received': terminatedByPeer,
    'nonsense-received': protocolError,
    'unknown-received': unknownMessage,
    authorized: impossible,
    refused: impossible,
    deleted: impossible,
    changed,
    ready,
    'not-sent': notSent,
    applied,
    'not-applied': notApplied,
    wanted,
    tick: openTick,
    terminate: (session, _phase, { at }) => end(session, at, { kind: 'terminated-here' }),
    stop,
    fault,
    undecodable,
    closed,
    failed,
  },
  ending: {
    'open-received': stay,
    'subscribe-received': stay,
    'ack-received': stay,
    'nack-received': stay,
    'response-received': stay,
    'bad-response-received': stay,
    'heartbeat-received': stay,
    // Both sides were deleted: there is nothing to tell any more.
    'terminated-received': (_session, phase) => ({ ...phase, farewell: 'none' }),
    'nonsense-received': stay,
    'unknown-received': stay,
    authorized: stay,
    refused: stay,
    deleted: stay,
    changed: stay,
    ready: (session, phase) => {
      session.idle = true;
      return phase.farewell === 'given' ? { ...phase, farewell: 'none' } : phase;
    },
    'not-sent': ready,
    applied: stay,
    'not-applied': stay,
    wanted: stay,
    tick: (session, phase, { at }) =>
      at < phase.deadline ? phase : tearDown(session, comeTo(phase, 'the transport took no more messages')),
    terminate: stay,
    stop: stay,
    fault: stay,
    undecodable: (session, phase, { status }) => gone(session, phase, status.message),
    // A peer that leaves without an error, and so before the transport could ask again, has read what it was given.
    closed: (session, phase, { status }) =>
      phase.farewell === 'given' && status.code === undefined
        ? conclude(session, phase.end)
        : gone(session, phase, status.message || 'the other side has closed the stream'),
    failed: (session, phase, { message }) => gone(session, phase, message),
  },
  ended: {
    'open-received': stay,
    'subscribe-received': stay,
    'ack-received': stay,
    'nack-received': stay,
    'response-received': stay,
    'bad-response-received': stay,
    'heartbeat-received': stay,
    'terminated-received': stay,
    'nonsense-received': stay,
    'unknown-received': stay,
    authorized: stay,
    refused: stay,
    deleted: stay,
    changed: stay,
    ready: stay,
    'not-sent': stay,
    applied: stay,
    'not-applied': stay,
    wanted: stay,
    tick: stay,
    terminate: stay,
    stop: stay,
    fault: stay,
    undecodable: stay,
    closed: stay,
    failed: stay,
  },
};

/** Follows the rule for what happens to a session that is in `phase`. */
export function react(session: Session, phase: Phase, event: Event): Phase {
  // The cell of a phase and an event takes just that phase and that event, which the type of an indexed table cannot say.
  const rule = RULES[phase.name][event.type] as (session: Session, phase: Phase, event: Event) => Phase;
  return rule(session, phase, event);
}
