/** What a session knows, what can happen to it and what it can ask for. The rules are in `session.ts`. */

import type {
  Open,
  Refusal,
  SessionCounters,
  SessionEnd,
  SessionTimes,
  Side,
  StopReason,
  StreamStatus,
} from '../contract.ts';
import { openMessage, type Received, subscribeMessage } from '../wire/messages.ts';
import type { ResourceKey, ResourceKind } from '../wire/resources.ts';
import { type ApplyQueue, createApplyQueue } from './apply-queue.ts';
import { createSendQueue, type Outgoing, type SendQueue } from './send-queue.ts';

/** Where a session stands. `terminated`: the peering was deleted here, which is said as soon as the other side may know. */
export type Phase =
  /** Accepting: nothing was received. */
  | { readonly name: 'awaiting-open'; readonly deadline: number; readonly terminated: boolean }
  /** Accepting: Open was received, the owner is asked. Nothing is read. */
  | { readonly name: 'authorizing'; readonly deadline: number; readonly terminated: boolean }
  /** Dialing: Open is sent, nothing was received. */
  | { readonly name: 'opening'; readonly deadline: number; readonly terminated: boolean }
  | { readonly name: 'open' }
  /**
   * The transport is still to take the last words: Terminated, where it waits or was given and not asked on from, then
   * `status`. What comes in is dropped.
   */
  | {
      readonly name: 'ending';
      readonly end: SessionEnd;
      readonly status: StreamStatus;
      readonly farewell: 'waiting' | 'given' | 'none';
      readonly deadline: number;
    }
  | { readonly name: 'ended' };

export type PhaseName = Phase['name'];
export type PhaseOf<N extends PhaseName> = Extract<Phase, { readonly name: N }>;

/** Everything that can happen; `at` is monotonic time in milliseconds and never falls. */
export type Event = { readonly at: number } & (
  | Received
  /** What the owner has decided about the Open. */
  | { readonly type: 'authorized' }
  | { readonly type: 'refused'; readonly status: StreamStatus }
  | { readonly type: 'deleted' }
  /** Resources of ours may have changed. */
  | { readonly type: 'changed'; readonly keys: readonly ResourceKey[] }
  /** The transport asks for the next message: it has taken the one before. */
  | { readonly type: 'ready' }
  /** The resource that was to be sent was not: it is gone, too large, or cannot be read. */
  | { readonly type: 'not-sent'; readonly nonce: string }
  | { readonly type: 'applied'; readonly key: ResourceKey }
  | { readonly type: 'not-applied'; readonly key: ResourceKey; readonly refusal: Refusal }
  /** One more kind of resource is wanted from the peer. */
  | { readonly type: 'wanted'; readonly kind: ResourceKind }
  /** Time has passed; due at `nextTickAt`, harmless before. */
  | { readonly type: 'tick' }
  | { readonly type: 'terminate' }
  | { readonly type: 'stop'; readonly reason: StopReason; readonly leader?: string | undefined }
  /** Something here threw that must not. */
  | { readonly type: 'fault'; readonly error: unknown }
  /** What came in is no message, or too large to be one. Nothing more will come. */
  | { readonly type: 'undecodable'; readonly status: StreamStatus }
  /** The other side has ended the stream. */
  | { readonly type: 'closed'; readonly status: StreamStatus }
  /** The connection is gone. */
  | { readonly type: 'failed'; readonly message: string }
);

export type EventName = Event['type'];
export type EventOf<N extends EventName> = Extract<Event, { readonly type: N }>;

/** What a step asks for, in this order. */
export type Effect =
  /** At most one a step, and only when the transport has asked: what goes out. */
  | Outgoing
  | { readonly type: 'authorize'; readonly open: Open }
  | { readonly type: 'opened' }
  /** Everything of this kind is to be reported as changed. */
  | { readonly type: 'enumerate'; readonly kind: ResourceKind }
  | { readonly type: 'apply'; readonly key: ResourceKey; readonly content: Uint8Array; readonly first: boolean }
  | { readonly type: 'acknowledged'; readonly key: ResourceKey; readonly afterMs: number }
  | { readonly type: 'refused'; readonly key: ResourceKey; readonly refusal: Refusal }
  /** The transport has asked, and there is nothing more: it gets this status. */
  | { readonly type: 'close'; readonly status: StreamStatus }
  /** The transport does not take the last words: it is torn down. */
  | { readonly type: 'reset' }
  /** The last effect of a session. */
  | { readonly type: 'ended'; readonly end: SessionEnd };

/** How a session begins. The dialing side says `open`. */
export interface SessionStart {
  readonly times: SessionTimes;
  /** Monotonic time, milliseconds. */
  readonly at: number;
  readonly open?: Open | undefined;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** A session. Only `step` changes it. */
export interface Session {
  readonly side: Side;
  readonly times: SessionTimes;
  /** What requests carry: the accepting side's ID of the peering on the dialing side, nothing on the accepting side. */
  readonly peerId: string;
  readonly wants: Set<ResourceKind>;
  readonly sending: SendQueue;
  readonly applying: ApplyQueue;
  readonly counters: Mutable<SessionCounters>;
  phase: Phase;
  /** The transport has asked for a message and was given none. */
  idle: boolean;
  /** When the transport was last given a message. */
  givenAt: number;
  /** When something was last received, or could be received again after reading had paused. */
  heardAt: number;
  heartbeatAt: number;
  /** Reading was allowed after the last step. */
  reading: boolean;
  /** Effects of the step under way. */
  effects: Effect[];
}

/** What every side subscribes to; the addresses of the accepting side are of use to the dialing side alone. */
const WANTS: readonly ResourceKind[] = ['list', 'service', 'roots'];

/** A session at its beginning: dialing when there is an `open` to say, accepting otherwise. */
export function createSession({ times, at, open }: SessionStart): Session {
  const session: Session = {
    side: open === undefined ? 'accepting' : 'dialing',
    times,
    peerId: open?.PeerID ?? '',
    wants: new Set(WANTS),
    sending: createSendQueue(),
    applying: createApplyQueue(),
    counters: { nacksSent: 0, nacksReceived: 0, protocolErrors: 0, unknownMessages: 0 },
    phase: {
      name: open === undefined ? 'awaiting-open' : 'opening',
      deadline: at + times.handshakeTimeoutMs,
      terminated: false,
    },
    idle: false,
    givenAt: at,
    heardAt: at,
    heartbeatAt: at,
    reading: true,
    effects: [],
  };
  if (open !== undefined) {
    session.wants.add('server-addresses');
    session.sending.control.push(openMessage(open));
    for (const kind of session.wants) session.sending.control.push(subscribeMessage(session.peerId, kind));
  }
  return session;
}
