/**
 * What the peer stream needs from the parts that own a peering, and what it gives them. The acceptor and the dialer are
 * written against this file; `driveSession` fulfils it.
 */
import type { Code } from '@connectrpc/connect';
import type { Clock } from '../../state/clock/clock.ts';
import type { ReplicationMessage, ReplicationMessage_Open } from './wire/gen/peering/peerstream_pb.ts';
import type { EncodedResource, Resource, ResourceKey, ResourceKind } from './wire/resources.ts';

/** Who opened the stream: the accepting side serves it, the dialing side called. */
export type Side = 'accepting' | 'dialing';

/** What the stream says in its first message. */
export type Open = ReplicationMessage_Open;

/** A gRPC status that ends a stream, or comes with a resource that was not applied. */
export interface StreamStatus {
  /** `undefined`: ended without an error. */
  readonly code: Code | undefined;
  readonly message: string;
  /** The server that can serve the stream, where the other side named one (or we do): `host:port`. */
  readonly leader?: string | undefined;
}

/** Why a resource was not applied: what a NACK says. `code` is a gRPC status code, 0 when the peer gave none. */
export interface Refusal {
  readonly code: number;
  readonly message: string;
}

/** What one side can send. All of it is synchronous and quick: a snapshot is read, nothing is waited for. */
export interface OutgoingResources {
  /** The ids that exist now: the names of services, or the fixed id of the kind; empty for what this side does not have. */
  ids(kind: ResourceKind): readonly string[];
  /**
   * The content as it is now, asked for when the transport can take it. `undefined`: it is gone; a service then goes out
   * without instances, anything else not at all. `'unchanged'`: the peer was sent the same before, so nothing goes out.
   */
  read(key: ResourceKey): Resource | EncodedResource | 'unchanged' | undefined;
  /** Calls `changed` whenever a resource may have changed, come or gone, until the returned function is called. */
  follow(changed: (key: ResourceKey) => void): () => void;
  /** The resource would be a message of `bytes`, above what the wire allows. It was not sent; the peer keeps the one before. */
  tooLarge(key: ResourceKey, bytes: number): void;
  /** The peer has applied what was sent `afterMs` ago, which includes the time that it took to apply. */
  acknowledged(key: ResourceKey, afterMs: number): void;
  /** The peer has refused what was sent. It is not sent again until it changes. */
  refused(key: ResourceKey, refusal: Refusal): void;
}

/**
 * Where what the peer sends goes. Resources of different ids are applied side by side, those of one id in order; a list is
 * applied alone, after everything that was received before it. What was overtaken while it waited is never applied.
 */
export interface IncomingResources {
  /**
   * Applies one resource; again with the same content does no harm. What it resolved for is acknowledged to the peer.
   *
   * @param first a list, and none of this stream was applied before: what it does not name is dropped
   * @param signal aborts when the session has ended
   * @param encoded the message as it came
   * @throws ApplyRefused the peer gets its code and message
   * @throws SessionSuperseded the session ends: another stream of the peering is newer
   * anything else: the peer gets INTERNAL, and the error goes to `SessionOwner.failed`
   */
  apply(resource: Resource, first: boolean, signal: AbortSignal, encoded: Uint8Array): Promise<void>;
  /**
   * Notes that a resource came which cannot be decoded; the peer is told why in any case.
   *
   * @throws SessionSuperseded as `apply`
   */
  undecodable(key: ResourceKey, reason: string, signal: AbortSignal): Promise<void>;
}

/** Thrown by `apply`: the resource was not applied, and the peer is told why. */
export class ApplyRefused extends Error {
  readonly code: Code;
  constructor(code: Code, message: string) {
    super(message);
    this.name = 'ApplyRefused';
    this.code = code;
  }
}

/** Thrown by `apply`: this stream is not the newest of its peering any more. */
export class SessionSuperseded extends Error {
  constructor() {
    super('superseded by a newer stream');
    this.name = 'SessionSuperseded';
  }
}

/** What an Open leads to on the accepting side. */
export type Authorization =
  | { readonly kind: 'accepted'; readonly outgoing: OutgoingResources; readonly incoming: IncomingResources }
  | { readonly kind: 'refused'; readonly status: StreamStatus & { readonly code: Code } }
  /** The peering was deleted here and the secret was its own: Terminated is said, then ABORTED. */
  | { readonly kind: 'deleted' };

/** The kinds of message, as metrics name them; `unknown` is one that this version does not know. */
export type MessageKind = 'open' | 'request' | 'response' | 'terminated' | 'heartbeat' | 'unknown';

/** Who has a session. The calls are made from the session's own steps: they must not throw and not wait. */
export interface SessionOwner {
  /**
   * The stream is live. Accepting: authorization was given. Dialing: the other side has said something, which it does only
   * after it has authorized us.
   */
  opened?(): void;
  /** The transport has asked for, and was given, one message of about `bytes`. */
  sent?(kind: MessageKind, bytes: number): void;
  /** A message came; any of them is a sign of life. */
  received?(kind: MessageKind, bytes: number): void;
  /**
   * The other side has said that its peering was deleted. It forgets us when we say that we know, and we do once this
   * resolves: what was said must be kept by then. Nothing is read meanwhile. If it rejects, the session ends without
   * saying so, as `transport-failed`. Dialing side.
   */
  terminated?(): Promise<void>;
  /** Something that should not fail did (applying, reading what to send): for the log. */
  failed?(error: unknown): void;
}

export interface SessionTimes {
  /** Between two heartbeats that are sent. */
  readonly heartbeatIntervalMs: number;
  /** Silence, or a standstill of the transport or of an application, after which the session has failed. */
  readonly heartbeatTimeoutMs: number;
  /** For the Open and its authorization (accepting), or for the first word of the other side (dialing). */
  readonly handshakeTimeoutMs: number;
}

/** Who has an accepting session. */
export interface AcceptingOwner extends SessionOwner {
  /** Decides about an Open; asked once. What it rejects with ends the session as `failed`. */
  authorize(open: Open): Promise<Authorization>;
}

/** What a session needs. */
export type SessionOptions = { readonly clock: Clock; readonly times: SessionTimes } & (
  | { readonly side: 'accepting'; readonly owner: AcceptingOwner }
  | {
      readonly side: 'dialing';
      readonly owner: SessionOwner;
      readonly open: Open;
      readonly outgoing: OutgoingResources;
      readonly incoming: IncomingResources;
    }
);

/** How a session ended, told once. `endReason` in `session-end.ts` puts it in words. */
export type SessionEnd =
  /** The peer said Terminated: its side of the peering was deleted. */
  | { readonly kind: 'terminated-by-peer' }
  /** `terminate()` was called, or authorization said `deleted`; Terminated was written, or the peer has said it as well. */
  | { readonly kind: 'terminated-here' }
  /** Silence, a handshake that did not come, or an application that made no progress. */
  | { readonly kind: 'timed-out'; readonly reason: TimeoutReason }
  /** The other side refused the Open (dialing), or we did (accepting). */
  | { readonly kind: 'refused'; readonly status: StreamStatus }
  /** The other side ended a live stream, with or without an error. */
  | { readonly kind: 'closed-by-peer'; readonly status: StreamStatus }
  /** The connection is gone. */
  | { readonly kind: 'transport-failed'; readonly message: string }
  /** The peer did not keep to the protocol, as `status` told it. */
  | { readonly kind: 'protocol-error'; readonly status: StreamStatus }
  /** `stop()` was called, or `apply` threw SessionSuperseded. */
  | { readonly kind: 'stopped'; readonly reason: StopReason }
  /** A named limit was reached. */
  | { readonly kind: 'limit'; readonly limit: SessionLimit }
  /** Authorization, or the session itself, threw: a fault here. */
  | { readonly kind: 'failed'; readonly error: unknown };

export type TimeoutReason = 'heartbeat timeout' | 'handshake timeout' | 'apply timeout';

/** Why a session is stopped from here: the server goes, or the peering has a newer stream (or another server has it). */
export type StopReason = 'shutdown' | 'superseded';

/** What the limits of a session are called, in statuses and logs. */
export type SessionLimit =
  | 'transport-stalled'
  | 'acknowledgements-waiting'
  | 'responses-unacknowledged'
  | 'changes-waiting'
  | 'protocol-errors';

/** Numbers of one session, for metrics; they only grow. */
export interface SessionCounters {
  /** Responses that we refused. */
  readonly nacksSent: number;
  /** Responses that the peer refused. */
  readonly nacksReceived: number;
  /** What a peer that keeps to the protocol does not send, and that was survived. */
  readonly protocolErrors: number;
  /** Messages of a kind that this version does not know. */
  readonly unknownMessages: number;
}

/** A session under way. */
export interface SessionHandle {
  /** What goes out: for the handler to yield (accepting) or the call to take (dialing). Iterated once. */
  readonly outgoing: AsyncIterable<ReplicationMessage>;
  /**
   * Begins to read what comes in. Called once. A session that is never given anything ends by its handshake timeout.
   *
   * @param gone aborts when the connection is gone, for a transport that does not say so while nobody reads; what it has
   *   brought is still read, for at most CLOSING_MS
   */
  receive(incoming: AsyncIterable<ReplicationMessage>, gone?: AbortSignal): void;
  /**
   * Aborts when the transport is to be torn down, whatever still waits to be written: at once when it takes nothing any
   * more, else CLOSING_MS after the end unless the incoming messages have ended by then. Dialing: the call's signal.
   * Accepting: who has the HTTP/2 stream resets it.
   */
  readonly reset: AbortSignal;
  /** Resolves once, and never rejects. Nothing is sent, applied or told to the owner afterwards. */
  readonly ended: Promise<SessionEnd>;
  /**
   * Whether the other side has said Terminated, as an Accord does that was told so. Resolves once it has, or once nothing
   * more can be read, some time after `ended` at the latest. Needs `receive`.
   */
  readonly confirmed: Promise<boolean>;
  readonly counters: SessionCounters;
  /** The peering was deleted here: says Terminated (dialing: once the other side has authorized us) and ends. */
  terminate(): void;
  /** Ends the session. `leader` is the hint of who serves the stream now; only an accepting side can give it. */
  stop(reason: StopReason, leader?: string): void;
  /** Asks for one more kind of resource, such as the digest of a peer that turned out to be Accord. Once a kind. */
  subscribe(kind: ResourceKind): void;
}
