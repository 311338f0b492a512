/** Driven sessions, each with a peer that the test plays. */
import assert from 'node:assert/strict';
import type { Authorization, SessionHandle } from '../../../src/peering/stream/contract.ts';
import { driveSession } from '../../../src/peering/stream/session/drive-session.ts';
import type { ReplicationMessage } from '../../../src/peering/stream/wire/gen/peering/peerstream_pb.ts';
import { encodeResource, openMessage, responseMessage } from '../../../src/peering/stream/wire/messages.ts';
import type { Resource } from '../../../src/peering/stream/wire/resources.ts';
import { createFakeClock, type FakeClock } from '../fake-clock.ts';
import { OPEN, TIMES } from './peer-session.ts';
import {
  attachPeer,
  type ScriptedPeer,
  type ScriptedSink,
  type ScriptedSource,
  scriptedSink,
  scriptedSource,
} from './scripted-peer.ts';

/** A session with a peer and resources that the test moves. */
export interface Scene {
  readonly clock: FakeClock;
  readonly session: SessionHandle;
  readonly peer: ScriptedPeer;
  readonly source: ScriptedSource;
  readonly sink: ScriptedSink;
  readonly failures: unknown[];
}

export interface SceneOptions {
  readonly resources?: readonly Resource[];
  readonly authorization?: Authorization;
  readonly gone?: AbortSignal;
}

/** An accepting session before the first message. */
export function accept({ resources = [], authorization, gone }: SceneOptions = {}): Scene {
  const clock = createFakeClock();
  const source = scriptedSource(...resources);
  const sink = scriptedSink();
  const failures: unknown[] = [];
  const session = driveSession({
    side: 'accepting',
    clock,
    times: TIMES,
    callbacks: {
      authorize: async () => authorization ?? { kind: 'accepted', outgoing: source, incoming: sink },
      failed: (error) => failures.push(error),
    },
  });
  return { clock, session, peer: attachPeer(session, gone), source, sink, failures };
}

/** An accepting session whose subscriptions the peer has taken. */
export async function acceptLive(options: SceneOptions = {}): Promise<Scene> {
  const scene = accept(options);
  scene.peer.say(openMessage(OPEN));
  for (let taken = 0; taken < 3; taken++) await scene.peer.take();
  return scene;
}

/** A response that brings `resource`. */
export const responseOf = (resource: Resource, nonce: string): ReplicationMessage => {
  const content = encodeResource(resource, resource);
  assert.ok(content);
  return responseMessage(resource, nonce, content);
};

/** A message in words: what it is, and whom it answers or names. */
export function inWords(message: ReplicationMessage | undefined): string {
  const payload = message?.Payload;
  if (payload?.case === 'response') return `response ${payload.value.Nonce} ${payload.value.ResourceID}`;
  if (payload?.case !== 'request') return payload?.case ?? 'nothing';
  const { ResponseNonce: nonce, Error: error, ResourceURL: url } = payload.value;
  if (nonce === '') return `subscribe ${url.split('.').at(-1)}`;
  return error === undefined ? `ack ${nonce}` : `nack ${nonce}: ${error.message}`;
}

/** Takes the next message, in words. */
export const takeWords = async ({ peer }: Scene): Promise<string> => inWords(await peer.take());

/** A dialing session before the first message. @param terminated keeps what the other side says of its deletion */
export function dial(terminated: () => Promise<void> = async () => undefined): Scene {
  const clock = createFakeClock();
  const [source, sink, failures] = [scriptedSource(), scriptedSink(), [] as unknown[]];
  const callbacks = { failed: (error: unknown) => failures.push(error), terminated };
  const session = driveSession({
    side: 'dialing',
    clock,
    times: TIMES,
    callbacks,
    open: OPEN,
    outgoing: source,
    incoming: sink,
  });
  return { clock, session, peer: attachPeer(session), source, sink, failures };
}
