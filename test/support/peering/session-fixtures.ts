/** Sessions of a peer stream in the phases that tests start from, and readers of their effects. */
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

/** The default settings. */
export const TIMES = { heartbeatIntervalMs: 15_000, heartbeatTimeoutMs: 120_000, handshakeTimeoutMs: 10_000 };
/** The start time of sessions, in monotonic milliseconds. */
export const START_MS = 1_000;
export const WEB: ResourceKey = { kind: 'service', id: 'web' };
export const API: ResourceKey = { kind: 'service', id: 'api' };
export const OPEN = create(ReplicationMessage_OpenSchema, { PeerID: 'p', StreamSecretID: 's' });
export const STATUS = { code: Code.PermissionDenied, message: 'no' };
export const REFUSAL = { code: Code.InvalidArgument, message: 'no' };

/** An event without its time. */
export type UntimedEvent<E extends EventName = EventName> = { readonly [N in E]: Omit<EventOf<N>, 'at'> }[E];

/** Dispatches an event to a session. */
export const dispatch = (session: Session, event: UntimedEvent, at = START_MS): readonly Effect[] =>
  step(session, { ...event, at } as Event);

/** Creates the event of a response with a resource of `bytes` bytes. */
export const responseReceived = (key: ResourceKey, nonce: string, bytes = 8): UntimedEvent<'response-received'> => ({
  type: 'response-received',
  response: { nonce, url: RESOURCE_KINDS[key.kind].url, key, content: new Uint8Array(bytes) },
});

/** Sends until the session has nothing to send. */
export function drain(session: Session, at = START_MS): readonly Effect[] {
  const effects: Effect[] = [];
  do effects.push(...dispatch(session, { type: 'ready' }, at));
  while (!session.transportReady && session.phase.name !== 'ended');
  return effects;
}

export const acceptingSession = (): Session => createSession({ times: TIMES, at: START_MS });
export const dialingSession = (): Session => createSession({ times: TIMES, at: START_MS, open: OPEN });

/** Creates an accepting session that waits for its authorization. */
export function authorizingSession(): Session {
  const session = acceptingSession();
  dispatch(session, { type: 'open-received', open: OPEN });
  return session;
}

/** Creates an open accepting session that has sent its subscriptions and whose transport is ready. */
export function openSession(): Session {
  const session = authorizingSession();
  dispatch(session, { type: 'authorized' });
  drain(session);
  return session;
}

export const numberedService = (number: number): ResourceKey => ({ kind: 'service', id: `service-${number}` });

/** Returns what the effects send: kinds of messages, and resources with their nonces. */
export const sentMessages = (effects: readonly Effect[]): readonly string[] =>
  effects.flatMap((effect) => {
    if (effect.type === 'send') return [messageKind(effect.message)];
    return effect.type === 'send-resource' ? [`${effect.key.id} ${effect.nonce}`] : [];
  });

/** Returns the resources that the effects apply. */
export const resourcesToApply = (effects: readonly Effect[]): readonly string[] =>
  effects.flatMap((effect) => (effect.type === 'apply' ? [`${effect.key.id}${effect.first ? ' first' : ''}`] : []));

/** Returns the nonces that the effects answer. A NACK is marked with `!`. */
export const answeredNonces = (effects: readonly Effect[]): readonly string[] =>
  effects.flatMap((effect) => {
    if (effect.type !== 'send' || effect.message.Payload.case !== 'request') return [];
    const { ResponseNonce: nonce, Error: error } = effect.message.Payload.value;
    return nonce === '' ? [] : [error === undefined ? nonce : `!${nonce}`];
  });

/** Returns how the session ended, or undefined when it did not. */
export const sessionEndIn = (effects: readonly Effect[]): SessionEnd | undefined =>
  effects.flatMap((effect) => (effect.type === 'ended' ? [effect.end] : []))[0];

/** Creates an open session whose peer has subscribed to services. */
export function exportingSession(): Session {
  const session = openSession();
  dispatch(session, { type: 'subscribe-received', kind: 'service' });
  return session;
}
