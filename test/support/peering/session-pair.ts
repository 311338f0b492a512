/** The session state machines of both sides, connected by two queues that are lossless, ordered and short. */
import assert from 'node:assert/strict';
import { create } from '@bufbuild/protobuf';
import { AnySchema } from '@bufbuild/protobuf/wkt';
import type { SessionEnd } from '../../../src/peering/stream/contract.ts';
import {
  PENDING_ACKS_MAX,
  PENDING_CHANGES_MAX,
  UNACKNOWLEDGED_MAX,
  UNAPPLIED_BYTES_MAX,
} from '../../../src/peering/stream/limits.ts';
import { canRead, nextTickAt, step } from '../../../src/peering/stream/session/session.ts';
import type { Effect, Event, Session } from '../../../src/peering/stream/session/session-state.ts';
import type { ReplicationMessage } from '../../../src/peering/stream/wire/gen/peering/peerstream_pb.ts';
import { readMessage, responseMessage } from '../../../src/peering/stream/wire/messages.ts';
import { keyText, RESOURCE_KINDS, type ResourceKey } from '../../../src/peering/stream/wire/resources.ts';
import type { Random } from '../random.ts';
import { acceptingSession, dialingSession, REFUSAL, type UntimedEvent } from './session-fixtures.ts';

/** Messages in a queue at which the transport is no longer ready. */
const QUEUED_MESSAGES_MAX = 3;

/** One side of the stream: its session, its transport and its resources. */
export interface Endpoint {
  readonly session: Session;
  /** Messages that this side has sent and the other side has not read. */
  readonly queue: ReplicationMessage[];
  /** The versions of this side's own resources, by key. */
  readonly exported: Map<string, number>;
  /** The versions that this side has applied, by key. */
  readonly applied: Map<string, number>;
  readonly applying: { readonly key: ResourceKey; readonly version: number }[];
  readonly sentNonces: string[];
  readonly readNonces: string[];
  readonly answeredNonces: string[];
  /** Whether the transport can take a message. */
  isTransportReady: boolean;
  closed: boolean;
  end: SessionEnd | undefined;
}

export interface SessionPair {
  readonly endpoints: readonly [Endpoint, Endpoint];
  /** Performs a random action that is possible now. Time can pass only while both sessions are open. */
  randomAction(random: Random): void;
  /** Delivers, applies and sends until no action is possible. */
  runToCompletion(random: Random): void;
  /** Increases the version of a resource. */
  change(endpoint: Endpoint, key: ResourceKey): void;
  dispatch(endpoint: Endpoint, event: UntimedEvent): void;
}

const KEYS: readonly ResourceKey[] = [
  { kind: 'list', id: 'exported-service-list' },
  { kind: 'roots', id: 'roots' },
  { kind: 'service', id: 'web' },
  { kind: 'service', id: 'api' },
  { kind: 'service', id: 'db' },
];

const createEndpoint = (session: Session): Endpoint => ({
  session,
  queue: [],
  exported: new Map(KEYS.map((key) => [keyText(key), 1])),
  applied: new Map(),
  applying: [],
  sentNonces: [],
  readNonces: [],
  answeredNonces: [],
  isTransportReady: false,
  closed: false,
  end: undefined,
});

/** @param at the start time in milliseconds. @param refusalProbability the chance that an application is refused */
export function createSessionPair(at: number, refusalProbability: number): SessionPair {
  const endpoints: readonly [Endpoint, Endpoint] = [
    createEndpoint(acceptingSession()),
    createEndpoint(dialingSession()),
  ];
  let now = at;

  function send(endpoint: Endpoint, message: ReplicationMessage): void {
    assert.equal(endpoint.end, undefined, 'no message is sent after the end');
    assert.ok(endpoint.isTransportReady, 'a message is sent only when the transport is ready');
    endpoint.isTransportReady = false;
    endpoint.queue.push(message);
    const { Payload: payload } = message;
    if (payload.case === 'response') endpoint.sentNonces.push(payload.value.Nonce);
    if (payload.case === 'request' && payload.value.ResponseNonce !== '') {
      endpoint.answeredNonces.push(payload.value.ResponseNonce);
    }
  }

  function perform(endpoint: Endpoint, effect: Effect): void {
    switch (effect.type) {
      case 'send':
        send(endpoint, effect.message);
        break;
      case 'send-resource': {
        const version = endpoint.exported.get(keyText(effect.key)) ?? 0;
        const { url } = RESOURCE_KINDS[effect.key.kind];
        const content = create(AnySchema, { typeUrl: url, value: new TextEncoder().encode(String(version)) });
        send(endpoint, responseMessage(effect.key, effect.nonce, content));
        break;
      }
      case 'authorize':
        happen(endpoint, { type: 'authorized' });
        break;
      case 'enumerate':
        happen(endpoint, { type: 'changed', keys: KEYS.filter(({ kind }) => kind === effect.kind) });
        break;
      case 'apply':
        endpoint.applying.push({ key: effect.key, version: Number(new TextDecoder().decode(effect.content)) });
        break;
      case 'close':
      case 'reset':
        endpoint.closed = true;
        break;
      case 'ended':
        assert.equal(endpoint.end, undefined, 'a session ends once');
        endpoint.end = effect.end;
        break;
      case 'opened':
      case 'acknowledged':
      case 'refused':
    }
  }

  function happen(endpoint: Endpoint, event: UntimedEvent): void {
    // Adding `at` to an event without one makes a complete event.
    for (const effect of step(endpoint.session, { ...event, at: now } as Event)) perform(endpoint, effect);
    check(endpoint);
  }

  const change = (endpoint: Endpoint, key: ResourceKey): void => {
    const text = keyText(key);
    endpoint.exported.set(text, (endpoint.exported.get(text) ?? 0) + 1);
    happen(endpoint, { type: 'changed', keys: [key] });
  };

  /** Returns the actions that are possible now. */
  const possible = (random: Random): readonly (() => void)[] => [
    ...possibleFor(endpoints[0], endpoints[1], random),
    ...possibleFor(endpoints[1], endpoints[0], random),
  ];

  function possibleFor(endpoint: Endpoint, other: Endpoint, random: Random): readonly (() => void)[] {
    if (endpoint.end !== undefined) return [];
    const actions: (() => void)[] = [];
    if (!endpoint.isTransportReady && endpoint.queue.length < QUEUED_MESSAGES_MAX) actions.push(() => ask(endpoint));
    if (other.queue.length > 0 && canRead(endpoint.session)) actions.push(() => read(endpoint, other));
    if (endpoint.applying.length > 0) actions.push(() => settle(endpoint, random));
    if (other.queue.length === 0 && other.closed) {
      actions.push(() => happen(endpoint, { type: 'closed', status: { code: undefined, message: '' } }));
    }
    return actions;
  }

  function ask(endpoint: Endpoint): void {
    endpoint.isTransportReady = true;
    happen(endpoint, { type: 'ready' });
  }

  function read(endpoint: Endpoint, other: Endpoint): void {
    const message = other.queue.shift();
    if (message === undefined) return;
    if (message.Payload.case === 'response') endpoint.readNonces.push(message.Payload.value.Nonce);
    happen(endpoint, readMessage(message));
  }

  function settle(endpoint: Endpoint, random: Random): void {
    const [done] = endpoint.applying.splice(random.below(endpoint.applying.length), 1);
    if (done === undefined) return;
    const { key, version } = done;
    if (random.chance(refusalProbability)) {
      happen(endpoint, { type: 'not-applied', key, refusal: REFUSAL });
      return;
    }
    const text = keyText(key);
    assert.ok(version >= (endpoint.applied.get(text) ?? 0), 'an older version is not applied after a newer one');
    endpoint.applied.set(text, version);
    happen(endpoint, { type: 'applied', key });
  }

  function pass(ms: number): void {
    now += ms;
    for (const each of endpoints) if (nextTickAt(each.session) <= now) happen(each, { type: 'tick' });
  }

  return {
    endpoints,
    dispatch: happen,
    change,
    randomAction(random) {
      const actions = possible(random);
      if (actions.length > 0 && random.chance(0.8)) random.pick(actions)();
      else if (random.chance(0.7)) change(random.pick(endpoints), random.pick(KEYS));
      else if (endpoints.every(({ session }) => session.phase.name === 'open')) pass(random.below(5_000));
    },
    runToCompletion(random) {
      for (let actions = possible(random); actions.length > 0; actions = possible(random)) random.pick(actions)();
    },
  };
}

/** Checks the invariants of an endpoint. */
function check({ session, sentNonces }: Endpoint): void {
  const { sendQueue, applyQueue } = session;
  assert.ok(sendQueue.acks.size <= PENDING_ACKS_MAX);
  assert.ok(sendQueue.changed.size <= Math.min(KEYS.length, PENDING_CHANGES_MAX));
  assert.ok(sendQueue.unacknowledged.size <= UNACKNOWLEDGED_MAX);
  assert.ok(applyQueue.bytes >= 0 && applyQueue.bytes <= UNAPPLIED_BYTES_MAX);
  const last = sentNonces.at(-1);
  const before = sentNonces.at(-2);
  assert.ok(last === undefined || before === undefined || before < last, 'nonces increase [STREAM-39]');
}
