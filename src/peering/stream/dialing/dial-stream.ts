/** One stream to one address of the other cluster, from the connection to its end. */
import { create } from '@bufbuild/protobuf';
import { sleep } from '../../../state/clock/clock.ts';
import { isStateError } from '../../../state/errors.ts';
import { BACKOFF_MS_MIN } from '../../limits.ts';
import { type SessionEnd, SessionSuperseded } from '../contract.ts';
import { outgoingResources } from '../exporting/outgoing-resources.ts';
import { incomingResources } from '../importing/incoming-resources.ts';
import { traceDial } from '../opening-spans.ts';
import { driveSession } from '../session/drive-session.ts';
import { streamDelivery } from '../status/delivery-status.ts';
import { claimDialedStream, recordTerminated } from '../status/stream-record.ts';
import { type DialerDependencies, recordTraffic } from '../stream-dependencies.ts';
import { type ReplicationMessage_Open, ReplicationMessage_OpenSchema } from '../wire/gen/peering/peerstream_pb.ts';
import { peerVersionProblem } from '../wire/peer-version.ts';
import { type DialPlan, dialPlan, dialTopics, isSameStream } from './dial-plan.ts';

export interface DialOutcome {
  /** Whether the stream became the current one of the peering. */
  readonly live: boolean;
  readonly end: SessionEnd;
  /** The reason of a failure that `end` does not contain. */
  readonly problem: string | undefined;
}

/** Opens a stream and resolves when it has ended. */
export async function dialStream(
  dependencies: DialerDependencies,
  peeringId: string,
  plan: DialPlan,
  address: string,
  signal: AbortSignal,
): Promise<DialOutcome> {
  const { state, clock, log, sessions, secrets, traffic } = dependencies;
  const connection = dependencies.connect({ address, serverName: plan.serverName, roots: plan.roots });
  const stream = { peeringId, name: plan.name, side: 'dialing' } as const;
  const epoch = Promise.withResolvers<number>();
  // Prevents an unhandled rejection when no received resource waits for the epoch.
  epoch.promise.catch(() => undefined);
  const outgoing = outgoingResources(dependencies, stream);
  const incoming = incomingResources(dependencies, peeringId, epoch.promise);
  let live = false;
  let problem: string | undefined;
  let isTerminated = false;
  const attempt = traceDial(plan, address);

  const session = driveSession({
    side: 'dialing',
    clock,
    times: sessions,
    callbacks: { ...recordTraffic(dependencies, () => peeringId), opened: () => void opened(), terminated },
    open: openMessage(dependencies, plan),
    outgoing,
    incoming,
  });

  /** Makes this stream the current one after the accepting side has authorized it. */
  async function opened(): Promise<void> {
    problem = peerVersionProblem(connection.version, dependencies.version);
    if (problem !== undefined) session.stop('superseded');
    else if (plan.deleted) session.terminate();
    else {
      const claimed = await claimStream(dependencies, peeringId, plan, ended.signal);
      if (claimed === undefined) {
        session.stop('superseded');
        return;
      }
      live = true;
      attempt.live();
      epoch.resolve(claimed);
      traffic.opened(peeringId);
      const delivery = streamDelivery(connection.version, outgoing, incoming);
      void dependencies.live.add({ ...stream, peerId: plan.peerId, epoch: claimed, session, delivery });
      if (delivery.peerVersion !== undefined) session.subscribe('digest');
    }
  }

  /** Records that the other side deleted the peering. The session confirms it after the commit ([STREAM-82]). */
  async function terminated(): Promise<void> {
    isTerminated = true;
    try {
      if (!plan.deleted) await recordTerminated(state, peeringId, plan.peerId);
    } catch (error) {
      log.warn({ error, peering: plan.name }, 'termination of the peering not recorded yet');
      problem = 'the peering was deleted by the other cluster, and this could not be recorded yet';
      session.stop('superseded');
    }
  }

  const ended = new AbortController();
  const stop = (): void => session.stop('superseded');
  const stopFollowing = state.follow(dialTopics(peeringId), () => {
    const current = dialPlan(state.snapshot, secrets, peeringId);
    // `LiveStreams` ends a live stream after a deletion, because it sends `Terminated` first.
    if (!isTerminated && !isSameStream(plan, current) && !(live && (current === undefined || current.deleted))) stop();
  });
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    const closed = Promise.withResolvers<void>();
    session.receive(callOnEnd(connection.stream(session.outgoing, session.reset), closed.resolve));
    const end = await session.ended;
    attempt.ended(end, problem);
    // Closing the connection before the other side has closed its half would look like a failure of the connection. The
    // session limits this wait to CLOSING_MS.
    if (ORDERLY_ENDS.has(end.kind)) await closed.promise;
    return { live, end, problem };
  } finally {
    ended.abort();
    signal.removeEventListener('abort', stop);
    stopFollowing();
    epoch.reject(new SessionSuperseded());
    connection.close();
  }
}

/** Ends after which the other side still reads. */
const ORDERLY_ENDS: ReadonlySet<SessionEnd['kind']> = new Set(['terminated-by-peer', 'terminated-here', 'stopped']);

/** Passes on `messages` and calls `onEnd` when they end or fail. */
async function* callOnEnd<T>(messages: AsyncIterable<T>, onEnd: () => void): AsyncGenerator<T> {
  try {
    yield* messages;
  } finally {
    onEnd();
  }
}

function openMessage({ identity, edition }: DialerDependencies, plan: DialPlan): ReplicationMessage_Open {
  const { peerId, streamSecret } = plan;
  // The community edition has no partitions ([STREAM-24]).
  const partition = edition === 'community' ? '' : plan.partition;
  const remote = { Partition: partition, Datacenter: identity.datacenter };
  return create(ReplicationMessage_OpenSchema, { PeerID: peerId, StreamSecretID: streamSecret, Remote: remote });
}

/**
 * Makes this stream the current one of the peering, and retries while the store fails.
 * @returns its epoch, or `undefined` when the peering has changed or the stream has ended
 */
async function claimStream(
  { state, clock, live, log }: DialerDependencies,
  peeringId: string,
  plan: DialPlan,
  signal: AbortSignal,
): Promise<number | undefined> {
  while (!signal.aborted) {
    const holder = live.holder();
    if (holder === undefined) return undefined;
    try {
      return await claimDialedStream(state, peeringId, plan.peerId, holder);
    } catch (error) {
      if (isStateError(error, 'aborted')) return undefined;
      log.warn({ error, peering: plan.name }, 'stream not recorded yet');
      await sleep(clock, BACKOFF_MS_MIN, signal).catch(() => undefined);
    }
  }
  return undefined;
}
