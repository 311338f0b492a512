/** Both sides of a peer stream as machines, joined by two wires that hold few messages, lose none and keep their order. */
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
import { accepting, dialing, REFUSAL, type Timeless } from './peer-session.ts';

/** Messages that a wire holds before the transport has to wait. */
const WIRE_MESSAGES_MAX = 3;

/** One side with what lies around it. */
export interface Half {
  readonly session: Session;
  /** What this side has sent and the other one has not read. */
  readonly wire: ReplicationMessage[];
  /** What this side exports, and what it has applied of the other's: the version of each key. */
  readonly exported: Map<string, number>;
  readonly applied: Map<string, number>;
  readonly applying: { readonly key: ResourceKey; readonly version: number }[];
  /** Nonces of responses that were sent, read here, and answered here. */
  readonly sentNonces: string[];
  readonly readNonces: string[];
  readonly answeredNonces: string[];
  asked: boolean;
  closed: boolean;
  end: SessionEnd | undefined;
}

export interface Pair {
  readonly halves: readonly [Half, Half];
  /** Does something that is possible now; between two live sessions time may pass too. */
  act(random: Random): void;
  /** Delivers, applies and sends until there is nothing left to do. */
  finish(random: Random): void;
  /** Something of this half changes. */
  change(half: Half, key: ResourceKey): void;
  happen(half: Half, event: Timeless): void;
}

const KEYS: readonly ResourceKey[] = [
  { kind: 'list', id: 'exported-service-list' },
  { kind: 'roots', id: 'roots' },
  { kind: 'service', id: 'web' },
  { kind: 'service', id: 'api' },
  { kind: 'service', id: 'db' },
];

const makeHalf = (session: Session): Half => ({
  session,
  wire: [],
  exported: new Map(KEYS.map((key) => [keyText(key), 1])),
  applied: new Map(),
  applying: [],
  sentNonces: [],
  readNonces: [],
  answeredNonces: [],
  asked: false,
  closed: false,
  end: undefined,
});

/** @param refuses the chance that an application is refused */
export function createSessionPair(at: number, refuses: number): Pair {
  const halves: readonly [Half, Half] = [makeHalf(accepting()), makeHalf(dialing())];
  let now = at;

  function send(half: Half, message: ReplicationMessage): void {
    assert.equal(half.end, undefined, 'nothing is sent after the end');
    assert.ok(half.asked, 'a message is given only when it was asked for');
    half.asked = false;
    half.wire.push(message);
    const { Payload: payload } = message;
    if (payload.case === 'response') half.sentNonces.push(payload.value.Nonce);
    if (payload.case === 'request' && payload.value.ResponseNonce !== '') {
      half.answeredNonces.push(payload.value.ResponseNonce);
    }
  }

  function perform(half: Half, effect: Effect): void {
    switch (effect.type) {
      case 'send':
        send(half, effect.message);
        break;
      case 'send-resource': {
        const version = half.exported.get(keyText(effect.key)) ?? 0;
        const { url } = RESOURCE_KINDS[effect.key.kind];
        const content = create(AnySchema, { typeUrl: url, value: new TextEncoder().encode(String(version)) });
        send(half, responseMessage(effect.key, effect.nonce, content));
        break;
      }
      case 'authorize':
        happen(half, { type: 'authorized' });
        break;
      case 'enumerate':
        happen(half, { type: 'changed', keys: KEYS.filter(({ kind }) => kind === effect.kind) });
        break;
      case 'apply':
        half.applying.push({ key: effect.key, version: Number(new TextDecoder().decode(effect.content)) });
        break;
      case 'close':
      case 'reset':
        half.closed = true;
        break;
      case 'ended':
        assert.equal(half.end, undefined, 'a session ends once');
        half.end = effect.end;
        break;
      case 'opened':
      case 'acknowledged':
      case 'refused':
    }
  }

  function happen(half: Half, event: Timeless): void {
    // An event that is made here has the time of the step.
    for (const effect of step(half.session, { ...event, at: now } as Event)) perform(half, effect);
    check(half);
  }

  const change = (half: Half, key: ResourceKey): void => {
    const text = keyText(key);
    half.exported.set(text, (half.exported.get(text) ?? 0) + 1);
    happen(half, { type: 'changed', keys: [key] });
  };

  /** What both halves can do now. */
  const possible = (random: Random): readonly (() => void)[] => [
    ...possibleFor(halves[0], halves[1], random),
    ...possibleFor(halves[1], halves[0], random),
  ];

  function possibleFor(half: Half, other: Half, random: Random): readonly (() => void)[] {
    if (half.end !== undefined) return [];
    const actions: (() => void)[] = [];
    if (!half.asked && half.wire.length < WIRE_MESSAGES_MAX) actions.push(() => ask(half));
    if (other.wire.length > 0 && canRead(half.session)) actions.push(() => read(half, other));
    if (half.applying.length > 0) actions.push(() => settle(half, random));
    if (other.wire.length === 0 && other.closed) {
      actions.push(() => happen(half, { type: 'closed', status: { code: undefined, message: '' } }));
    }
    return actions;
  }

  function ask(half: Half): void {
    half.asked = true;
    happen(half, { type: 'ready' });
  }

  function read(half: Half, other: Half): void {
    const message = other.wire.shift();
    if (message === undefined) return;
    if (message.Payload.case === 'response') half.readNonces.push(message.Payload.value.Nonce);
    happen(half, readMessage(message));
  }

  function settle(half: Half, random: Random): void {
    const [done] = half.applying.splice(random.below(half.applying.length), 1);
    if (done === undefined) return;
    const { key, version } = done;
    if (random.chance(refuses)) {
      happen(half, { type: 'not-applied', key, refusal: REFUSAL });
      return;
    }
    const text = keyText(key);
    assert.ok(version >= (half.applied.get(text) ?? 0), 'an older version is not applied after a newer one');
    half.applied.set(text, version);
    happen(half, { type: 'applied', key });
  }

  function pass(ms: number): void {
    now += ms;
    for (const each of halves) if (nextTickAt(each.session) <= now) happen(each, { type: 'tick' });
  }

  return {
    halves,
    happen,
    change,
    act(random) {
      const actions = possible(random);
      if (actions.length > 0 && random.chance(0.8)) random.pick(actions)();
      else if (random.chance(0.7)) change(random.pick(halves), random.pick(KEYS));
      else if (halves.every(({ session }) => session.phase.name === 'open')) pass(random.below(5_000));
    },
    finish(random) {
      for (let actions = possible(random); actions.length > 0; actions = possible(random)) random.pick(actions)();
    },
  };
}

/** What holds after every step. */
function check({ session, sentNonces }: Half): void {
  const { sendQueue, applyQueue } = session;
  assert.ok(sendQueue.acks.size <= PENDING_ACKS_MAX);
  assert.ok(sendQueue.changed.size <= Math.min(KEYS.length, PENDING_CHANGES_MAX));
  assert.ok(sendQueue.unacknowledged.size <= UNACKNOWLEDGED_MAX);
  assert.ok(applyQueue.bytes >= 0 && applyQueue.bytes <= UNAPPLIED_BYTES_MAX);
  const last = sentNonces.at(-1);
  const before = sentNonces.at(-2);
  assert.ok(last === undefined || before === undefined || before < last, 'nonces count up');
}
