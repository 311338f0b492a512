/** One stream to one address, from the connection to its end. */
import { create } from '@bufbuild/protobuf';
import { sleep } from '../../../state/clock/clock.ts';
import { isStateError } from '../../../state/errors.ts';
import { BACKOFF_MS_MIN } from '../../limits.ts';
import { type SessionEnd, SessionSuperseded } from '../contract.ts';
import { outgoingResources } from '../exporting/outgoing-resources.ts';
import { incomingResources } from '../importing/incoming-resources.ts';
import { traceAttempt } from '../opening-spans.ts';
import { driveSession } from '../session/drive-session.ts';
import { insightOf } from '../status/delivery-status.ts';
import { claimDialed, reportTerminated } from '../status/stream-record.ts';
import { type DialerParts, watchSession } from '../stream-dependencies.ts';
import { type ReplicationMessage_Open, ReplicationMessage_OpenSchema } from '../wire/gen/peering/peerstream_pb.ts';
import { peerVersionProblem } from '../wire/peer-version.ts';
import { type DialPlan, dialPlan, dialTopics, sameStream } from './dial-plan.ts';

/** How an attempt ended. */
export interface DialOutcome {
  /** The stream was the one that counts, for a while. */
  readonly live: boolean;
  readonly end: SessionEnd;
  /** Why there was none, where the end does not tell. */
  readonly problem: string | undefined;
}

/** Resolves when the stream has ended, however that came. */
export async function dialStream(
  parts: DialerParts,
  peeringId: string,
  plan: DialPlan,
  address: string,
  signal: AbortSignal,
): Promise<DialOutcome> {
  const { state, clock, log, sessions, secrets, traffic } = parts;
  const connection = parts.connect({ address, serverName: plan.serverName, roots: plan.roots });
  const of = { peeringId, name: plan.name, side: 'dialing' } as const;
  const epoch = Promise.withResolvers<number>();
  // Nothing that came before may wait for it: then nobody hears of its rejection.
  epoch.promise.catch(() => undefined);
  const outgoing = outgoingResources(parts, of);
  const incoming = incomingResources(parts, peeringId, epoch.promise);
  let live = false;
  let problem: string | undefined;
  let isOver = false;
  const attempt = traceAttempt(plan, address);

  const session = driveSession({
    side: 'dialing',
    clock,
    times: sessions,
    owner: { ...watchSession(parts, () => peeringId), opened: () => void opened(), terminated },
    open: openOf(parts, plan),
    outgoing,
    incoming,
  });

  /** The other side has taken us: from now on this stream is the one that counts. */
  async function opened(): Promise<void> {
    problem = peerVersionProblem(connection.version, parts.version);
    if (problem !== undefined) session.stop('superseded');
    else if (plan.deleted) session.terminate();
    else {
      const claimed = await claim(parts, peeringId, plan, ended.signal);
      if (claimed === undefined) {
        session.stop('superseded');
        return;
      }
      live = true;
      attempt.live();
      epoch.resolve(claimed);
      traffic.opened(peeringId);
      const insight = insightOf(connection.version, outgoing, incoming);
      void parts.live.add({ ...of, peerId: plan.peerId, epoch: claimed, session, insight });
      if (insight.peerVersion !== undefined) session.subscribe('digest');
    }
  }

  /** The other side has ended the peering, and forgets us when it hears that we know. */
  async function terminated(): Promise<void> {
    isOver = true;
    try {
      if (!plan.deleted) await reportTerminated(state, peeringId, plan.peerId);
    } catch (error) {
      log.warn({ error, peering: plan.name }, 'the end of a peering could not be kept yet: it will be told again');
      problem = 'the peering was deleted by the other cluster, which could not be kept yet';
      session.stop('superseded');
    }
  }

  const ended = new AbortController();
  const stop = (): void => session.stop('superseded');
  const forget = state.follow(dialTopics(peeringId), () => {
    const now = dialPlan(state.snapshot, secrets, peeringId);
    // A live stream hears of its deletion from its record, so that it can say so before it ends.
    if (!isOver && !sameStream(plan, now) && !(live && (now === undefined || now.deleted))) stop();
  });
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    const over = Promise.withResolvers<void>();
    session.receive(withEnd(connection.stream(session.outgoing, session.reset), over.resolve));
    const end = await session.ended;
    attempt.ended(end, problem);
    // Who says goodbye is let finish: a connection that is closed under it would look like one that broke. The session
    // sees to it that this takes no longer than CLOSING_MS.
    if (SAYS_GOODBYE.has(end.kind)) await over.promise;
    return { live, end, problem };
  } finally {
    ended.abort();
    signal.removeEventListener('abort', stop);
    forget();
    epoch.reject(new SessionSuperseded());
    connection.close();
  }
}

/** Ends that come in order, where the other side still listens. */
const SAYS_GOODBYE: ReadonlySet<SessionEnd['kind']> = new Set(['terminated-by-peer', 'terminated-here', 'stopped']);

/** The same messages; calls `onEnd` when there are no more, however that came. */
async function* withEnd<T>(messages: AsyncIterable<T>, onEnd: () => void): AsyncGenerator<T> {
  try {
    yield* messages;
  } finally {
    onEnd();
  }
}

function openOf({ identity, edition }: DialerParts, plan: DialPlan): ReplicationMessage_Open {
  const { peerId, streamSecret } = plan;
  // Where there are no partitions, none is named.
  const partition = edition === 'community' ? '' : plan.partition;
  const remote = { Partition: partition, Datacenter: identity.datacenter };
  return create(ReplicationMessage_OpenSchema, { PeerID: peerId, StreamSecretID: streamSecret, Remote: remote });
}

/**
 * Makes this stream the one that counts, as soon as the store answers.
 * @returns its epoch; undefined: it cannot be, or has ended meanwhile
 */
async function claim(
  { state, clock, live, log }: DialerParts,
  peeringId: string,
  plan: DialPlan,
  signal: AbortSignal,
): Promise<number | undefined> {
  while (!signal.aborted) {
    const holder = live.holder();
    if (holder === undefined) return undefined;
    try {
      return await claimDialed(state, peeringId, plan.peerId, holder);
    } catch (error) {
      if (isStateError(error, 'aborted')) return undefined;
      log.warn({ error, peering: plan.name }, 'a peer stream is open, but cannot be kept in the record yet');
      await sleep(clock, BACKOFF_MS_MIN, signal).catch(() => undefined);
    }
  }
  return undefined;
}
