/**
 * The streams that this server holds and that count, on either side: they follow their records, keep them true, and
 * end with them.
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
import type { StreamInsight } from './delivery-status.ts';
import type { ServerAddresses } from './server-addresses.ts';
import { type Holder, reportLost, reportTerminated } from './stream-record.ts';
import type { StreamTraffic } from './stream-traffic.ts';

/** A stream that its record names. */
export interface LiveStream {
  readonly peeringId: string;
  /** For the log. */
  readonly name: string;
  readonly side: Side;
  /** Dialing side: the other side's ID. */
  readonly peerId?: string;
  readonly epoch: number;
  readonly session: SessionHandle;
  /** What can be told about single services on it. */
  readonly insight: StreamInsight;
}

export interface LiveStreamsParts {
  readonly state: State;
  readonly traffic: StreamTraffic;
  readonly addresses: Pick<ServerAddresses, 'elsewhere'>;
  /** This server's name. */
  readonly node: string;
  readonly clock: Clock;
  readonly log: Log;
}

export interface LiveStreams extends AsyncDisposable {
  readonly count: number;
  /** The streams by peering; of two for one the newer. */
  readonly byPeering: ReadonlyMap<string, LiveStream>;
  /** This server as one that holds streams; undefined while its lease is lost. */
  holder(): Holder | undefined;
  /** Sees to a stream from when its record names it until the record says that it is gone. */
  add(stream: LiveStream): Promise<void>;
  /** Ends every stream with a goodbye; resolves when their records are told. */
  stop(): Promise<void>;
}

/** No streams yet. */
export function createLiveStreams(parts: LiveStreamsParts): LiveStreams {
  const { state, node, clock, log, traffic, addresses } = parts;
  const streams = new Map<LiveStream, Promise<void>>();
  const byPeering = new Map<string, LiveStream>();
  const stopping = new AbortController();
  /** Why a session was stopped, where its own words do not tell. */
  const reasons = new WeakMap<SessionHandle, string>();

  const holder = (): Holder | undefined => {
    const self = state.members.find(({ name }) => name === node);
    return self === undefined ? undefined : { node, incarnation: self.incarnation };
  };

  /** Ends a stream whose record says something else by now. */
  const review = ({ peeringId, epoch, session }: LiveStream): void => {
    const row = state.snapshot.get(peerings, peeringId)?.row;
    if (row === undefined || row.deletedAt !== undefined) session.terminate();
    else if (row.state !== 'TERMINATED' && !isCurrent(row, epoch)) session.stop('superseded');
  };

  async function see(stream: LiveStream): Promise<void> {
    const { peeringId, name, side, session } = stream;
    const forget = state.follow([rowTopic(peerings, peeringId)], () => review(stream));
    review(stream);
    log.info({ peering: name, side, epoch: stream.epoch }, 'a peer stream is live');
    const end = await session.ended;
    forget();
    const { nacksSent, nacksReceived } = session.counters;
    traffic.refused(peeringId, nacksReceived, nacksSent);
    const level = end.kind === 'failed' ? 'error' : 'info';
    log[level]({ peering: name, side, reason: endReason(end), ...errorOf(end) }, 'a peer stream has ended');
    await tell(stream, end);
  }

  /** The record is told how the stream ended, however long the store is away: until then it would say ACTIVE. */
  async function tell({ peeringId, peerId, epoch, name, session }: LiveStream, end: SessionEnd): Promise<void> {
    for (let pauseMs = BACKOFF_MS_MIN; ; pauseMs = Math.min(2 * pauseMs, BACKOFF_MS_MAX)) {
      try {
        if (end.kind === 'terminated-by-peer') await reportTerminated(state, peeringId, peerId);
        else await reportLost(state, peeringId, epoch, reasons.get(session) ?? endReason(end));
        return;
      } catch (error) {
        // A state that is closing: the next server to look finds that this one is gone.
        if (stopping.signal.aborted || isStateError(error, 'aborted')) return;
        log.warn({ error, peering: name }, 'the end of a peer stream could not be kept yet');
        await sleep(clock, pauseMs, stopping.signal).catch(() => undefined);
      }
    }
  }

  const endAll = async (reason: StopReason, words?: string): Promise<void> => {
    const ending = [...streams].map(([stream, seen]) => {
      if (words !== undefined) reasons.set(stream.session, words);
      // Whoever dials need not find out by itself which of the servers is still there.
      stream.session.stop(reason, stream.side === 'accepting' ? addresses.elsewhere() : undefined);
      return seen;
    });
    await Promise.all(ending);
  };

  // Without its lease this server cannot know whether another one has opened a newer stream.
  const forgetMembers = state.onMembers(() => {
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
      const seen = see(stream).finally(() => {
        streams.delete(stream);
        if (byPeering.get(stream.peeringId) === stream) byPeering.delete(stream.peeringId);
      });
      streams.set(stream, seen);
      return seen;
    },
    async stop() {
      await endAll('shutdown');
    },
    async [Symbol.asyncDispose]() {
      stopping.abort();
      forgetMembers();
      await endAll('shutdown');
    },
  };
}

const errorOf = (end: SessionEnd): { readonly error?: unknown } => (end.kind === 'failed' ? { error: end.error } : {});
