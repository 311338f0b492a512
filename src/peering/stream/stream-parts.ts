/** What both sides of the stream are made of, and how they watch a session. */
import type { Log } from '../../http/log.ts';
import type { Clock } from '../../state/clock.ts';
import type { State } from '../../state/state.ts';
import type { ServerIdentity } from '../trust/identity.ts';
import type { SessionOwner, SessionTimes } from './contract.ts';
import type { LiveStreams } from './live-streams.ts';
import type { ServerAddresses } from './server-addresses.ts';
import type { StreamTimeBoard } from './stream-times.ts';
import type { StreamTraffic } from './stream-traffic.ts';

export interface StreamParts {
  readonly state: State;
  readonly clock: Clock;
  readonly log: Log;
  readonly identity: ServerIdentity;
  readonly addresses: ServerAddresses;
  readonly live: LiveStreams;
  readonly times: StreamTimeBoard;
  readonly traffic: StreamTraffic;
  readonly sessions: SessionTimes;
  /** What we say that our version is. */
  readonly version: string;
}

/** Counts what a session carries, once it is known whose it is. */
export function watchSession(parts: StreamParts, peering: () => string | undefined): SessionOwner {
  const { times, traffic, log } = parts;
  return {
    received(kind, bytes) {
      const peeringId = peering();
      if (peeringId === undefined) return;
      times.received(peeringId, kind);
      traffic.received(peeringId, kind, bytes);
    },
    sent(kind, bytes) {
      const peeringId = peering();
      if (peeringId === undefined) return;
      times.sent(peeringId);
      traffic.sent(peeringId, kind, bytes);
    },
    failed: (error) => log.warn({ error, peeringId: peering() }, 'something failed on a peer stream'),
  };
}
