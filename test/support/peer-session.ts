/** Sessions of a peer stream in the phases that tests begin from. */
import { create } from '@bufbuild/protobuf';
import { Code } from '@connectrpc/connect';
import { ReplicationMessage_OpenSchema } from '../../src/peering/stream/gen/peering/peerstream_pb.ts';
import { RESOURCE_KINDS, type ResourceKey } from '../../src/peering/stream/resources.ts';
import { step } from '../../src/peering/stream/session.ts';
import {
  createSession,
  type Effect,
  type Event,
  type EventName,
  type EventOf,
  type Session,
} from '../../src/peering/stream/session-state.ts';

/** The times that operators get by default. */
export const TIMES = { heartbeatIntervalMs: 15_000, heartbeatTimeoutMs: 120_000, handshakeTimeoutMs: 10_000 };
/** When the sessions of tests begin, monotonic milliseconds. */
export const AT = 1_000;
export const WEB: ResourceKey = { kind: 'service', id: 'web' };
export const API: ResourceKey = { kind: 'service', id: 'api' };
export const OPEN = create(ReplicationMessage_OpenSchema, { PeerID: 'p', StreamSecretID: 's' });
export const STATUS = { code: Code.PermissionDenied, message: 'no' };
export const REFUSAL = { code: Code.InvalidArgument, message: 'no' };

/** An event before it happens. */
export type Timeless<E extends EventName = EventName> = { readonly [N in E]: Omit<EventOf<N>, 'at'> }[E];

/** Lets something happen, by default at the beginning. */
export const happen = (session: Session, event: Timeless, at = AT): readonly Effect[] =>
  step(session, { ...event, at } as Event);

/** A response with a resource of so many bytes. */
export const response = (key: ResourceKey, nonce: string, bytes = 8): Timeless<'response-received'> => ({
  type: 'response-received',
  response: { nonce, url: RESOURCE_KINDS[key.kind].url, key, content: new Uint8Array(bytes) },
});

/** Lets the transport take whatever there is. */
export function drain(session: Session, at = AT): readonly Effect[] {
  const effects: Effect[] = [];
  do effects.push(...happen(session, { type: 'ready' }, at));
  while (!session.idle && session.phase.name !== 'ended');
  return effects;
}

/** A session of each side at its beginning. */
export const accepting = (): Session => createSession({ times: TIMES, at: AT });
export const dialing = (): Session => createSession({ times: TIMES, at: AT, open: OPEN });

/** Accepting, and its owner is asked. */
export function authorizing(): Session {
  const session = accepting();
  happen(session, { type: 'open-received', open: OPEN });
  return session;
}

/** Accepting and open: its subscriptions are taken, and the transport asks for more. */
export function live(): Session {
  const session = authorizing();
  happen(session, { type: 'authorized' });
  drain(session);
  return session;
}
