/** Sessions of a peer stream in the phases that tests begin from. */
import { create } from '@bufbuild/protobuf';
import { Code } from '@connectrpc/connect';
import type { SessionEnd } from '../../../src/peering/stream/contract.ts';
import { step } from '../../../src/peering/stream/session/session.ts';
import {
  createSession,
  type Effect,
  type Event,
  type EventName,
  type EventOf,
  type Session,
} from '../../../src/peering/stream/session/session-state.ts';
import { ReplicationMessage_OpenSchema } from '../../../src/peering/stream/wire/gen/peering/peerstream_pb.ts';
import { messageKind } from '../../../src/peering/stream/wire/messages.ts';
import { RESOURCE_KINDS, type ResourceKey } from '../../../src/peering/stream/wire/resources.ts';

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
  while (!session.transportReady && session.phase.name !== 'ended');
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

/** One of many services. */
export const numberedService = (number: number): ResourceKey => ({ kind: 'service', id: `service-${number}` });

/** What goes out: kinds of messages, and resources with their nonces. */
export const sent = (effects: readonly Effect[]): readonly string[] =>
  effects.flatMap((effect) => {
    if (effect.type === 'send') return [messageKind(effect.message)];
    return effect.type === 'send-resource' ? [`${effect.key.id} ${effect.nonce}`] : [];
  });

/** What is to be applied. */
export const applications = (effects: readonly Effect[]): readonly string[] =>
  effects.flatMap((effect) => (effect.type === 'apply' ? [`${effect.key.id}${effect.first ? ' first' : ''}`] : []));

/** The nonces that are answered by what goes out, `!` before those that are refused. */
export const answered = (effects: readonly Effect[]): readonly string[] =>
  effects.flatMap((effect) => {
    if (effect.type !== 'send' || effect.message.Payload.case !== 'request') return [];
    const { ResponseNonce: nonce, Error: error } = effect.message.Payload.value;
    return nonce === '' ? [] : [error === undefined ? nonce : `!${nonce}`];
  });

/** The end that is told. */
export const endOf = (effects: readonly Effect[]): SessionEnd | undefined =>
  effects.flatMap((effect) => (effect.type === 'ended' ? [effect.end] : []))[0];

/** A live session whose peer has subscribed to services. */
export function exporting(): Session {
  const session = live();
  happen(session, { type: 'subscribe-received', kind: 'service' });
  return session;
}
