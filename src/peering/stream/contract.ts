/**
 * The interfaces between a peer stream's session and its users. The acceptor and the dialer use them, `driveSession`
 * implements them.
 */
import type { Code } from '@connectrpc/connect';
import type { Clock } from '../../state/clock/clock.ts';
import type { ReplicationMessage, ReplicationMessage_Open } from './wire/gen/peering/peerstream_pb.ts';
import type { EncodedResource, Resource, ResourceKey, ResourceKind } from './wire/resources.ts';

/** The accepting side serves the stream, the dialing side calls it. */
export type Side = 'accepting' | 'dialing';

/** The first message of a stream, sent by the dialing side. */
export type Open = ReplicationMessage_Open;

/** A gRPC status that ends a stream. */
export interface StreamStatus {
  /** Undefined if the stream ended without an error. */
  readonly code: Code | undefined;
  readonly message: string;
  /** The address of the server that can serve the stream, `host:port`, if it is known. */
  readonly leader?: string | undefined;
}

/** The reason in a NACK. `code` is a gRPC status code, or 0 if the peer sent none. */
export interface Refusal {
  readonly code: number;
  readonly message: string;
}

/** The resources that one side sends. All methods are synchronous and fast, because they read a snapshot. */
export interface OutgoingResources {
  /** Returns the existing ids: service names, or the kind's fixed id. Empty for a kind that this side does not send. */
  ids(kind: ResourceKind): readonly string[];
  /**
   * Returns the current content, when the transport can write it. Returns `undefined` if the resource is deleted: a
   * service is then sent without instances, and other kinds are not sent. Returns `'unchanged'` if the peer was already
   * sent the same content.
   */
  read(key: ResourceKey): Resource | EncodedResource | 'unchanged' | undefined;
  /** Calls `changed` whenever a resource may have been added, changed, or deleted. @returns a function that stops it */
  follow(changed: (key: ResourceKey) => void): () => void;
  /** Reports that the resource was not sent, because its message would be too large. The peer keeps the old one. */
  tooLarge(key: ResourceKey, bytes: number): void;
  /** Reports an ACK. @param afterMs the time since the resource was sent, which includes the peer's time to apply it */
  acknowledged(key: ResourceKey, afterMs: number): void;
  /** Reports a NACK. The resource is sent again only when it changes. */
  refused(key: ResourceKey, refusal: Refusal): void;
}

/**
 * The receiver of the peer's resources. Resources with different ids are applied in parallel, resources with the same
 * id in order. A list is applied alone, after everything received before it. A pending resource that was received again
 * is not applied.
 */
export interface IncomingResources {
  /**
   * Applies one resource. Applying the same content again has no effect. The resource is acknowledged when this
   * resolves.
   *
   * @param first whether this is the first list to be applied on this stream; services that it lacks are deleted
   * @param signal aborts when the session has ended
   * @param encoded the resource as it was received
   * @throws ApplyRefused: the peer receives its code and message
   * @throws SessionSuperseded: the session ends, because the peering has a newer stream
   * anything else: the peer receives INTERNAL, and the error is passed to `SessionCallbacks.failed`
   */
  apply(resource: Resource, first: boolean, signal: AbortSignal, encoded: Uint8Array): Promise<void>;
  /**
   * Records that a received resource cannot be decoded. The peer receives a NACK in any case.
   *
   * @throws SessionSuperseded: the session ends, because the peering has a newer stream
   */
  undecodable(key: ResourceKey, reason: string, signal: AbortSignal): Promise<void>;
}

/** Thrown by `apply` to reject the resource. The peer receives the code and the message. */
export class ApplyRefused extends Error {
  readonly code: Code;
  constructor(code: Code, message: string) {
    super(message);
    this.name = 'ApplyRefused';
    this.code = code;
  }
}

/** Thrown by `apply` when the peering has a newer stream. */
export class SessionSuperseded extends Error {
  constructor() {
    super('superseded by a newer stream');
    this.name = 'SessionSuperseded';
  }
}

/** The accepting side's answer to an Open. */
export type Authorization =
  | { readonly kind: 'accepted'; readonly outgoing: OutgoingResources; readonly incoming: IncomingResources }
  | { readonly kind: 'refused'; readonly status: StreamStatus & { readonly code: Code } }
  /** The peering was deleted here, and the secret was valid. The session sends Terminated, then ABORTED. */
  | { readonly kind: 'deleted' };

/** The kind of a message, as in the metrics. `unknown` is a kind that this version does not implement. */
export type MessageKind = 'open' | 'request' | 'response' | 'terminated' | 'heartbeat' | 'unknown';

/** Called by the session during its steps. Callbacks must not throw and, except for promises, must not block. */
export interface SessionCallbacks {
  /** The Open was authorized (accepting), or the first message, sent after authorization, was received (dialing). */
  opened?(): void;
  /** A message of about `bytes` was given to the transport. */
  sent?(kind: MessageKind, bytes: number): void;
  received?(kind: MessageKind, bytes: number): void;
  /**
   * The peer has sent Terminated. When this resolves, the session confirms with Terminated, and the peer then removes
   * its tombstone. So the deletion must be stored before. Reading pauses until then. If this rejects, the session ends
   * as `transport-failed` without a confirmation. Dialing side only.
   */
  terminated?(): Promise<void>;
  /** An unexpected error occurred while applying a resource or reading one to send. For the log. */
  failed?(error: unknown): void;
}

export interface SessionTimes {
  readonly heartbeatIntervalMs: number;
  /** How long the peer may be silent, or the transport or an apply may make no progress. */
  readonly heartbeatTimeoutMs: number;
  /** How long the Open and its authorization (accepting), or the first received message (dialing), may take. */
  readonly handshakeTimeoutMs: number;
}

export interface AcceptingCallbacks extends SessionCallbacks {
  /** Authorizes an Open. Called once. If it rejects, the session ends as `failed`. */
  authorize(open: Open): Promise<Authorization>;
}

export type SessionOptions = { readonly clock: Clock; readonly times: SessionTimes } & (
  | { readonly side: 'accepting'; readonly callbacks: AcceptingCallbacks }
  | {
      readonly side: 'dialing';
      readonly callbacks: SessionCallbacks;
      readonly open: Open;
      readonly outgoing: OutgoingResources;
      readonly incoming: IncomingResources;
    }
);

/** The reason why a session ended. `endReason` in `session-end.ts` returns its text. */
export type SessionEnd =
  /** The peer sent Terminated, because it deleted its side of the peering. */
  | { readonly kind: 'terminated-by-peer' }
  /** The peering was deleted here. Terminated was written, or the peer has sent it as well. */
  | { readonly kind: 'terminated-here' }
  /** The peer was silent, the handshake was not completed, or an apply made no progress. */
  | { readonly kind: 'timed-out'; readonly reason: TimeoutReason }
  /** The Open was refused, by the peer (dialing) or here (accepting). */
  | { readonly kind: 'refused'; readonly status: StreamStatus }
  /** The peer ended an open stream, with or without an error. */
  | { readonly kind: 'closed-by-peer'; readonly status: StreamStatus }
  | { readonly kind: 'transport-failed'; readonly message: string }
  /** The peer violated the protocol. `status` was sent to it. */
  | { readonly kind: 'protocol-error'; readonly status: StreamStatus }
  /** `stop` was called, or `apply` threw SessionSuperseded. */
  | { readonly kind: 'stopped'; readonly reason: StopReason }
  | { readonly kind: 'limit'; readonly limit: SessionLimit }
  /** Authorization or the session itself failed with an unexpected error. */
  | { readonly kind: 'failed'; readonly error: unknown };

export type TimeoutReason = 'heartbeat timeout' | 'handshake timeout' | 'apply timeout';

/** `superseded`: the peering has a newer stream, or another server holds it. */
export type StopReason = 'shutdown' | 'superseded';

/** The limits of a session, as named in statuses and logs. */
export type SessionLimit =
  | 'transport-stalled'
  | 'acknowledgements-waiting'
  | 'responses-unacknowledged'
  | 'changes-waiting'
  | 'protocol-errors';

/** The counters of one session, for metrics. They only increase. */
export interface SessionCounters {
  readonly nacksSent: number;
  readonly nacksReceived: number;
  /** Messages that violate the protocol and did not end the session. */
  readonly protocolErrors: number;
  /** Messages of a kind that this version does not implement. */
  readonly unknownMessages: number;
}

export interface SessionHandle {
  /**
   * The messages to send. An accepting handler yields them, and a dialing peer passes them to its call. Iterated once.
   */
  readonly outgoing: AsyncIterable<ReplicationMessage>;
  /**
   * Starts to read the received messages. Call it once. A session without it ends by its handshake timeout.
   *
   * @param disconnected aborts when the connection is lost, for a transport that reports it only to a pending read.
   *   Messages that arrived before are still read, for at most CLOSING_MS
   */
  receive(incoming: AsyncIterable<ReplicationMessage>, disconnected?: AbortSignal): void;
  /**
   * Aborts when the transport must be reset, even if messages are still to be written: at once if it accepts no more
   * messages, otherwise CLOSING_MS after the end unless the peer's messages have ended by then. Dialing: the signal of
   * the call. Accepting: resets the HTTP/2 stream.
   */
  readonly reset: AbortSignal;
  /** Resolves once and never rejects. After it, nothing is sent or applied, and no callback is called. */
  readonly ended: Promise<SessionEnd>;
  /**
   * Whether the peer has sent Terminated, by which an Accord confirms a deletion. Resolves when it has, or when no more
   * can be read, which may be after `ended`. Needs `receive`.
   */
  readonly confirmed: Promise<boolean>;
  readonly counters: SessionCounters;
  /** Ends the session after a deletion here. Sends Terminated; dialing: after the peer has authorized us. */
  terminate(): void;
  /** Ends the session. @param leader the server that holds the stream now; only the accepting side can send it */
  stop(reason: StopReason, leader?: string): void;
  /** Subscribes to one more kind of resource, such as the digest of an Accord peer. Has an effect once per kind. */
  subscribe(kind: ResourceKind): void;
}
