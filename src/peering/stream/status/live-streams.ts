/**
 * The live streams that this server holds, of both sides. Each one follows the record of its peering, ends when the
 * record no longer names it, and records its own end.
 */
import type { Log } from '../../../http/telemetry/log.ts';
import { type Clock, sleep } from '../../../state/clock/clock.ts';
import { isStateError } from '../../../state/errors.ts';
import type { State } from '../../../state/state.ts';
import { rowTopic } from '../../../state/watch/change-notifier.ts';
import { BACKOFF_MS_MAX, BACKOFF_MS_MIN } from '../../limits.ts';
import { isCurrent, peerings } from '../../record/record.ts';
import type { SessionEnd, SessionHandle, Side, StopReason } from '../contract.ts';
import { endReason } from '../session-end.ts';
import type { StreamDelivery } from './delivery-status.ts';
import type { ServerAddresses } from './server-addresses.ts';
import { type Holder, recordStreamLost, recordTerminated } from './stream-record.ts';
import type { StreamTraffic } from './stream-traffic.ts';

/** A stream that is the current one of its peering. */
export interface LiveStream {
  readonly peeringId: string;
  readonly name: string;
  readonly side: Side;
  /** The other side's ID of the peering, on the dialing side. */
  readonly peerId?: string;
  readonly epoch: number;
  readonly session: SessionHandle;
  readonly delivery: StreamDelivery;
}

export interface LiveStreamsDependencies {
  readonly state: State;
  readonly traffic: StreamTraffic;
  readonly addresses: Pick<ServerAddresses, 'otherServer'>;
  /** This server's name. */
  readonly node: string;
  readonly clock: Clock;
  readonly log: Log;
}

export interface LiveStreams extends AsyncDisposable {
  readonly count: number;
  /** The newest stream of each peering, by its ID. */
  readonly byPeering: ReadonlyMap<string, LiveStream>;
  /** Returns the identity of this server in records, or `undefined` while it has no lease. */
  holder(): Holder | undefined;
  /** Adds a stream and ends the previous one of its peering. Resolves when its end is recorded. */
  add(stream: LiveStream): Promise<void>;
  /** Ends every stream with reason `shutdown`. Resolves when their ends are recorded. */
  stop(): Promise<void>;
}

export function createLiveStreams(dependencies: LiveStreamsDependencies): LiveStreams {
  const { state, node, clock, log, traffic, addresses } = dependencies;
  const streams = new Map<LiveStream, Promise<void>>();
  const byPeering = new Map<string, LiveStream>();
  const stopping = new AbortController();
  /** End reasons that replace those of the sessions. */
  const reasons = new WeakMap<SessionHandle, string>();

  const holder = (): Holder | undefined => {
    const self = state.liveNodes.find(({ name }) => name === node);
    return self === undefined ? undefined : { node, incarnation: self.incarnation };
  };

  /** Ends a stream whose peering was deleted or has a newer stream. */
  const review = ({ peeringId, epoch, session }: LiveStream): void => {
    const row = state.snapshot.get(peerings, peeringId)?.row;
    if (row === undefined || row.deletedAt !== undefined) session.terminate();
    else if (row.state !== 'TERMINATED' && !isCurrent(row, epoch)) session.stop('superseded');
  };

  async function supervise(stream: LiveStream): Promise<void> {
    const { peeringId, name, side, session } = stream;
    const stopFollowing = state.follow([rowTopic(peerings, peeringId)], () => review(stream));
    review(stream);
    log.info({ peering: name, side, epoch: stream.epoch }, 'stream opened');
    const end = await session.ended;
    stopFollowing();
    const { nacksSent, nacksReceived } = session.counters;
    traffic.refused(peeringId, nacksReceived, nacksSent);
    const level = end.kind === 'failed' ? 'error' : 'info';
    log[level]({ peering: name, side, reason: endReason(end), ...errorOf(end) }, 'stream closed');
    await recordEnd(stream, end);
  }

  /** Records the end of a stream, and retries while the store fails, because the record would remain ACTIVE. */
  async function recordEnd({ peeringId, peerId, epoch, name, session }: LiveStream, end: SessionEnd): Promise<void> {
    for (let pauseMs = BACKOFF_MS_MIN; ; pauseMs = Math.min(2 * pauseMs, BACKOFF_MS_MAX)) {
      try {
        if (end.kind === 'terminated-by-peer') await recordTerminated(state, peeringId, peerId);
        else await recordStreamLost(state, peeringId, epoch, reasons.get(session) ?? endReason(end));
        return;
      } catch (error) {
        // While the state closes, another server resets the record later (orphaned-streams.ts).
        if (stopping.signal.aborted || isStateError(error, 'aborted')) return;
        log.warn({ error, peering: name }, 'stream end not recorded yet');
        await sleep(clock, pauseMs, stopping.signal).catch(() => undefined);
      }
    }
  }

  const endAll = async (reason: StopReason, text?: string): Promise<void> => {
    const ending = [...streams].map(([stream, supervised]) => {
      if (text !== undefined) reasons.set(stream.session, text);
      // Names a live server to the dialing side ([STREAM-85]).
      stream.session.stop(reason, stream.side === 'accepting' ? addresses.otherServer() : undefined);
      return supervised;
    });
    await Promise.all(ending);
  };

  // Without a lease this server cannot know whether another server has a newer stream ([PEER-79]).
  const removeListener = state.onLiveNodes(() => {
    if (holder() === undefined) void endAll('superseded', 'the server that held the stream lost its lease');
  });

  return {
    byPeering,
    holder,
    get count() {
      return streams.size;
    },
    add(stream) {
      byPeering.get(stream.peeringId)?.session.stop('superseded');
      byPeering.set(stream.peeringId, stream);
      const supervised = supervise(stream).finally(() => {
        streams.delete(stream);
        if (byPeering.get(stream.peeringId) === stream) byPeering.delete(stream.peeringId);
      });
      streams.set(stream, supervised);
      return supervised;
    },
    async stop() {
      await endAll('shutdown');
    },
    async [Symbol.asyncDispose]() {
      stopping.abort();
      removeListener();
      await endAll('shutdown');
    },
  };
}

const errorOf = (end: SessionEnd): { readonly error?: unknown } => (end.kind === 'failed' ? { error: end.error } : {});
