/**
 * The transition table of a session: every phase by every event. A row that lacks an event does not compile.
 * `session-state.ts` defines the phases and events, `open-phase.ts` the transitions of a live stream.
 */
import { Code } from '@connectrpc/connect';
import { closeStatus } from '../session-end.ts';
import {
  acknowledged,
  applied,
  badResponse,
  changed,
  duplicateOpen,
  goLive,
  invalidMessage,
  negativelyAcknowledged,
  notApplied,
  notSent,
  openTick,
  peerSubscribed,
  responseReceived,
  subscribe,
  unknownMessage,
} from './open-phase.ts';
import { beginEnding, endNow, finalReason, tearDown } from './session-shutdown.ts';
import type { Event, EventName, EventOf, Phase, PhaseName, PhaseOf, Session } from './session-state.ts';

/** Handles event `E` in phase `P`: updates queues, adds effects, and returns the next phase. */
type Transition<P extends PhaseName, E extends EventName> = (
  session: Session,
  phase: PhaseOf<P>,
  event: EventOf<E>,
) => Phase;

type TransitionTable = { readonly [P in PhaseName]: { readonly [E in EventName]: Transition<P, E> } };

type HandshakePhase = PhaseOf<'awaiting-open' | 'authorizing' | 'opening'>;

const MESSAGES = [
  'open-received',
  'subscribe-received',
  'ack-received',
  'nack-received',
  'response-received',
  'bad-response-received',
  'heartbeat-received',
  'terminated-received',
  'invalid-message-received',
  'unknown-received',
] as const satisfies readonly EventName[];
const AUTHORIZATION_RESULTS = ['authorized', 'refused', 'deleted'] as const satisfies readonly EventName[];
/** The results of sending and applying resources, which only an open session does. */
const RESOURCE_RESULTS = ['not-sent', 'applied', 'not-applied'] as const satisfies readonly EventName[];
const CALLS = [
  'changed',
  'ready',
  'subscribe',
  'tick',
  'terminate',
  'stop',
  'fault',
] as const satisfies readonly EventName[];
const STREAM_ENDS = ['undecodable', 'closed', 'failed'] as const satisfies readonly EventName[];
const EVENTS = [...MESSAGES, ...AUTHORIZATION_RESULTS, ...RESOURCE_RESULTS, ...CALLS, ...STREAM_ENDS] as const;

/** Returns the cells that handle each of `events` with `handler`. */
const on = <E extends EventName, T>(events: readonly E[], handler: T): { readonly [N in E]: T } =>
  Object.fromEntries(events.map((event) => [event, handler])) as { [N in E]: T };

const ignore = (_session: Session, phase: Phase): Phase => phase;

/** Reports that the driver has broken its contract. */
const unexpected = (_session: Session, phase: Phase, event: Event): never => {
  throw new RangeError(`event ${event.type} is not possible in phase ${phase.name}`);
};

const ready = (session: Session, phase: Phase): Phase => {
  session.transportReady = true;
  return phase;
};

const missingOpen = (session: Session, _phase: Phase, { at }: Event): Phase =>
  beginEnding(session, at, {
    kind: 'protocol-error',
    status: { code: Code.InvalidArgument, message: 'the first message must be Open' },
  });

function stop(session: Session, _phase: Phase, { at, reason, leader }: EventOf<'stop'>): Phase {
  const end = { kind: 'stopped', reason } as const;
  if (leader === undefined) return beginEnding(session, at, end);
  const { message } = closeStatus(end);
  return beginEnding(session, at, end, { code: Code.FailedPrecondition, message, leader });
}

const fault = (session: Session, _phase: Phase, { at, error }: EventOf<'fault'>): Phase =>
  beginEnding(session, at, { kind: 'failed', error });

function undecodable(session: Session, _phase: Phase, { at, status }: EventOf<'undecodable'>): Phase {
  const end = { kind: 'protocol-error', status } as const;
  // The dialing side cannot send a status, and its transport asks for no message after a response that it cannot
  // decode.
  return session.side === 'dialing' ? tearDown(session, end) : beginEnding(session, at, end);
}

const closed = (session: Session, _phase: Phase, { status }: EventOf<'closed'>): Phase =>
  endNow(session, { kind: 'closed-by-peer', status });

const failed = (session: Session, _phase: Phase, { message }: EventOf<'failed'>): Phase =>
  endNow(session, { kind: 'transport-failed', message });

const terminatedByPeer = (session: Session, _phase: Phase, { at }: Event): Phase =>
  beginEnding(session, at, { kind: 'terminated-by-peer' });

const terminatedHere = (session: Session, _phase: Phase, { at }: Event): Phase =>
  beginEnding(session, at, { kind: 'terminated-here' });

const requestTerminate = (_session: Session, phase: HandshakePhase): Phase => ({ ...phase, terminateRequested: true });

const handshakeTick = (session: Session, phase: HandshakePhase, { at }: Event): Phase =>
  at < phase.deadline ? phase : beginEnding(session, at, { kind: 'timed-out', reason: 'handshake timeout' });

/** Opens the session, because the accepting side sends only after it has authorized us. Then handles the message. */
const firstMessage = (session: Session, phase: PhaseOf<'opening'>, event: Event): Phase =>
  transition(session, goLive(session, event.at, phase.terminateRequested), event);

const endFinally = (session: Session, phase: PhaseOf<'ending'>, message: string): Phase =>
  endNow(session, finalReason(phase, message));

/** The cells that the phases before `ending` have in common. */
const ACTIVE = { ready, subscribe, stop, fault, undecodable, closed, failed };

/** The cells that the phases before `open` have in common. */
const HANDSHAKE = {
  ...ACTIVE,
  ...on(RESOURCE_RESULTS, unexpected),
  changed: ignore,
  tick: handshakeTick,
  terminate: requestTerminate,
};

const TRANSITIONS: TransitionTable = {
  'awaiting-open': {
    ...HANDSHAKE,
    ...on(MESSAGES, missingOpen),
    ...on(AUTHORIZATION_RESULTS, unexpected),
    'open-received': (session, phase, { open }) => {
      session.effects.push({ type: 'authorize', open });
      return { ...phase, name: 'authorizing' };
    },
  },
  authorizing: {
    ...HANDSHAKE,
    ...on(MESSAGES, unexpected),
    authorized: (session, { terminateRequested }, { at }) => goLive(session, at, terminateRequested),
    refused: (session, _phase, { at, status }) => beginEnding(session, at, { kind: 'refused', status }),
    deleted: terminatedHere,
  },
  opening: {
    ...HANDSHAKE,
    ...on(MESSAGES, firstMessage),
    ...on(AUTHORIZATION_RESULTS, unexpected),
    'open-received': duplicateOpen,
    'terminated-received': terminatedByPeer,
    closed: (session, phase, event) =>
      event.status.code === undefined
        ? closed(session, phase, event)
        : endNow(session, { kind: 'refused', status: event.status }),
  },
  open: {
    ...ACTIVE,
    ...on(AUTHORIZATION_RESULTS, unexpected),
    'open-received': duplicateOpen,
    'subscribe-received': peerSubscribed,
    'ack-received': acknowledged,
    'nack-received': negativelyAcknowledged,
    'response-received': responseReceived,
    'bad-response-received': badResponse,
    'heartbeat-received': ignore,
    'terminated-received': terminatedByPeer,
    'invalid-message-received': invalidMessage,
    'unknown-received': unknownMessage,
    changed,
    'not-sent': notSent,
    applied,
    'not-applied': notApplied,
    tick: openTick,
    terminate: terminatedHere,
  },
  ending: {
    ...on(EVENTS, ignore),
    // Both sides have deleted the peering, so the peer needs no Terminated.
    'terminated-received': (_session, phase) => ({ ...phase, terminated: 'none' }),
    ready: (session, phase) => {
      session.transportReady = true;
      return phase.terminated === 'in-flight' ? { ...phase, terminated: 'none' } : phase;
    },
    'not-sent': ready,
    tick: (session, phase, { at }) =>
      at < phase.deadline ? phase : tearDown(session, finalReason(phase, 'the transport accepted no more messages')),
    undecodable: (session, phase, { status }) => endFinally(session, phase, status.message),
    // A peer that closes the stream without an error has read the Terminated that the transport was writing.
    closed: (session, phase, { status }) =>
      phase.terminated === 'in-flight' && status.code === undefined
        ? endNow(session, phase.end)
        : endFinally(session, phase, status.message || 'the peer has closed the stream'),
    failed: (session, phase, { message }) => endFinally(session, phase, message),
  },
  ended: on(EVENTS, ignore),
};

export function transition(session: Session, phase: Phase, event: Event): Phase {
  // The type of an indexed table cannot express that a cell takes exactly this phase and this event.
  const handle = TRANSITIONS[phase.name][event.type] as (session: Session, phase: Phase, event: Event) => Phase;
  return handle(session, phase, event);
}
