/**
 * The data of a session: its phases, its events, and its effects. `session.ts` and `session-table.ts` hold the rules.
 */

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
import { openMessage, type ReceivedEvent, subscribeMessage } from '../wire/messages.ts';
import type { ResourceKey, ResourceKind } from '../wire/resources.ts';
import { type ApplyQueue, createApplyQueue } from './apply-queue.ts';
import { createSendQueue, type SendEffect, type SendQueue } from './send-queue.ts';

/** The state of a session. Deadlines are monotonic milliseconds. */
export type Phase =
  /** Accepting: no message was received. */
  | Handshake<'awaiting-open'>
  /** Accepting: Open was received, and the callback that authorizes it is in flight. Reading is paused. */
  | Handshake<'authorizing'>
  /** Dialing: Open is queued or sent, and no message was received. */
  | Handshake<'opening'>
  | { readonly name: 'open' }
  /** The last messages are being sent: Terminated if there is one, then `status`. Received messages are dropped. */
  | {
      readonly name: 'ending';
      readonly end: SessionEnd;
      readonly status: StreamStatus;
      /** The Terminated message: not given to the transport, being written by it, or written or not needed. */
      readonly terminated: 'pending' | 'in-flight' | 'none';
      readonly deadline: number;
    }
  | { readonly name: 'ended' };

interface Handshake<N extends string> {
  readonly name: N;
  readonly deadline: number;
  /** Whether the peering was deleted here. Terminated is sent once authorization has succeeded. */
  readonly terminateRequested: boolean;
}

export type PhaseName = Phase['name'];
export type PhaseOf<N extends PhaseName> = Extract<Phase, { readonly name: N }>;

/** An input of the session. `at` is monotonic time in milliseconds and never decreases. */
export type Event = { readonly at: number } & (
  | ReceivedEvent
  /** The result of authorizing the Open. */
  | { readonly type: 'authorized' }
  | { readonly type: 'refused'; readonly status: StreamStatus }
  | { readonly type: 'deleted' }
  /** Resources that this side sends may have changed. */
  | { readonly type: 'changed'; readonly keys: readonly ResourceKey[] }
  /** The transport has written the previous message and asks for the next. */
  | { readonly type: 'ready' }
  /** A `send-resource` effect sent no message: the resource is deleted, unchanged, too large, or unreadable. */
  | { readonly type: 'not-sent'; readonly nonce: string }
  | { readonly type: 'applied'; readonly key: ResourceKey }
  | { readonly type: 'not-applied'; readonly key: ResourceKey; readonly refusal: Refusal }
  /** Requests one more kind of resource from the peer. */
  | { readonly type: 'subscribe'; readonly kind: ResourceKind }
  /** Time has passed. Due at `nextTickAt`; has no effect before. */
  | { readonly type: 'tick' }
  | { readonly type: 'terminate' }
  | { readonly type: 'stop'; readonly reason: StopReason; readonly leader?: string | undefined }
  /** A local error that must not happen. */
  | { readonly type: 'fault'; readonly error: unknown }
  /** The transport could not decode a message, or it was too large. No further message can be read. */
  | { readonly type: 'undecodable'; readonly status: StreamStatus }
  /** The peer has ended the stream. */
  | { readonly type: 'closed'; readonly status: StreamStatus }
  /** The connection is lost. */
  | { readonly type: 'failed'; readonly message: string }
);

export type EventName = Event['type'];
export type EventOf<N extends EventName> = Extract<Event, { readonly type: N }>;

/** An output of a step. The driver performs the effects in order. */
export type Effect =
  /** A message to send. A step has at most one, and only after the transport has asked for it. */
  | SendEffect
  | { readonly type: 'authorize'; readonly open: Open }
  | { readonly type: 'opened' }
  /** The driver reports every resource of this kind as changed. */
  | { readonly type: 'enumerate'; readonly kind: ResourceKind }
  | { readonly type: 'apply'; readonly key: ResourceKey; readonly content: Uint8Array; readonly first: boolean }
  | { readonly type: 'acknowledged'; readonly key: ResourceKey; readonly afterMs: number }
  | { readonly type: 'refused'; readonly key: ResourceKey; readonly refusal: Refusal }
  /** Ends the outgoing messages with this status. */
  | { readonly type: 'close'; readonly status: StreamStatus }
  /** Resets the transport, because it does not accept the last messages. */
  | { readonly type: 'reset' }
  /** The last effect of a session. */
  | { readonly type: 'ended'; readonly end: SessionEnd };

export interface SessionInit {
  readonly times: SessionTimes;
  /** Monotonic time, milliseconds. */
  readonly at: number;
  /** The Open to send. Undefined on the accepting side. */
  readonly open?: Open | undefined;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** A session. Only `step` changes it. Times are monotonic milliseconds. */
export interface Session {
  readonly side: Side;
  readonly times: SessionTimes;
  /** The accepting side's ID of the peering, for the dialing side's requests. Empty on the accepting side. */
  readonly peerId: string;
  /** The kinds that this side subscribes to. */
  readonly subscriptions: Set<ResourceKind>;
  readonly sendQueue: SendQueue;
  readonly applyQueue: ApplyQueue;
  readonly counters: Mutable<SessionCounters>;
  phase: Phase;
  /** Whether the transport waits for a message. */
  transportReady: boolean;
  lastSentAt: number;
  /** When the last message was received or reading last resumed, whichever is later. */
  lastReceivedAt: number;
  lastHeartbeatAt: number;
  /** Whether reading was allowed after the last step. */
  wasReading: boolean;
  effects: Effect[];
}

/** The kinds that both sides subscribe to. The dialing side adds `server-addresses`. */
const DEFAULT_SUBSCRIPTIONS: readonly ResourceKind[] = ['list', 'service', 'roots'];

/** Creates a dialing session if `open` is given, and an accepting session otherwise. */
export function createSession({ times, at, open }: SessionInit): Session {
  const session: Session = {
    side: open === undefined ? 'accepting' : 'dialing',
    times,
    peerId: open?.PeerID ?? '',
    subscriptions: new Set(DEFAULT_SUBSCRIPTIONS),
    sendQueue: createSendQueue(),
    applyQueue: createApplyQueue(),
    counters: { nacksSent: 0, nacksReceived: 0, protocolErrors: 0, unknownMessages: 0 },
    phase: {
      name: open === undefined ? 'awaiting-open' : 'opening',
      deadline: at + times.handshakeTimeoutMs,
      terminateRequested: false,
    },
    transportReady: false,
    lastSentAt: at,
    lastReceivedAt: at,
    lastHeartbeatAt: at,
    wasReading: true,
    effects: [],
  };
  if (open !== undefined) {
    session.subscriptions.add('server-addresses');
    session.sendQueue.control.push(openMessage(open));
    queueSubscriptions(session);
  }
  return session;
}

export function queueSubscriptions({ subscriptions, sendQueue, peerId }: Session): void {
  for (const kind of subscriptions) sendQueue.control.push(subscribeMessage(peerId, kind));
}
