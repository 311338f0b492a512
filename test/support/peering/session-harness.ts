/** Driven sessions whose peer and resources are controlled by the test. */
import assert from 'node:assert/strict';
import type { Authorization, SessionHandle } from '../../../src/peering/stream/contract.ts';
import { driveSession } from '../../../src/peering/stream/session/drive-session.ts';
import type { ReplicationMessage } from '../../../src/peering/stream/wire/gen/peering/peerstream_pb.ts';
import { encodeResource, openMessage, responseMessage } from '../../../src/peering/stream/wire/messages.ts';
import type { Resource } from '../../../src/peering/stream/wire/resources.ts';
import { createFakeClock, type FakeClock } from '../fake-clock.ts';
import {
  attachPeer,
  type ScriptedPeer,
  type ScriptedSink,
  type ScriptedSource,
  scriptedSink,
  scriptedSource,
} from './scripted-peer.ts';
import { OPEN, TIMES } from './session-fixtures.ts';

export interface SessionHarness {
  readonly clock: FakeClock;
  readonly session: SessionHandle;
  readonly peer: ScriptedPeer;
  readonly source: ScriptedSource;
  readonly sink: ScriptedSink;
  readonly failures: unknown[];
}

export interface HarnessOptions {
  readonly resources?: readonly Resource[];
  readonly authorization?: Authorization;
  readonly disconnected?: AbortSignal;
}

/** Starts an accepting session that has received no message. */
export function acceptSession({ resources = [], authorization, disconnected }: HarnessOptions = {}): SessionHarness {
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
  return { clock, session, peer: attachPeer(session, disconnected), source, sink, failures };
}

/** Starts an accepting session and receives its three subscriptions. */
export async function acceptOpenSession(options: HarnessOptions = {}): Promise<SessionHarness> {
  const harness = acceptSession(options);
  harness.peer.send(openMessage(OPEN));
  for (let received = 0; received < 3; received++) await harness.peer.receive();
  return harness;
}

/** Creates a response that contains `resource`. */
export const resourceResponse = (resource: Resource, nonce: string): ReplicationMessage => {
  const content = encodeResource(resource, resource);
  assert.ok(content);
  return responseMessage(resource, nonce, content);
};

/** Describes a message, for example `ack 00000001` or `response 00000002 web`. */
export function describeMessage(message: ReplicationMessage | undefined): string {
  const payload = message?.Payload;
  if (payload?.case === 'response') return `response ${payload.value.Nonce} ${payload.value.ResourceID}`;
  if (payload?.case !== 'request') return payload?.case ?? 'nothing';
  const { ResponseNonce: nonce, Error: error, ResourceURL: url } = payload.value;
  if (nonce === '') return `subscribe ${url.split('.').at(-1)}`;
  return error === undefined ? `ack ${nonce}` : `nack ${nonce}: ${error.message}`;
}

/** Receives the next message and describes it. */
export const receiveDescription = async ({ peer }: SessionHarness): Promise<string> =>
  describeMessage(await peer.receive());

/** Starts a dialing session that has received no message. @param terminated the callback of the session */
export function dialSession(terminated: () => Promise<void> = async () => undefined): SessionHarness {
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
