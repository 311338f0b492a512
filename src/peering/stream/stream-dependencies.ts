/** What both sides of the stream are made of, and how they watch a session. */
import type { Edition } from '../../credentials/request-partition.ts';
import type { Log } from '../../http/telemetry/log.ts';
import type { Clock } from '../../state/clock/clock.ts';
import type { State } from '../../state/state.ts';
import type { Exporter } from '../export/exporter.ts';
import type { SecretStore } from '../record/encrypted-secret.ts';
import { peeringNamed } from '../spans.ts';
import type { ServerIdentity } from '../trust/identity.ts';
import type { SessionOwner, SessionTimes } from './contract.ts';
import type { ConnectPeer } from './dialing/peer-connection.ts';
import type { LiveStreams } from './status/live-streams.ts';
import type { RefusalLog } from './status/rejection-log.ts';
import type { ServerAddresses } from './status/server-addresses.ts';
import type { StreamTimeBoard } from './status/stream-times.ts';
import type { StreamTraffic } from './status/stream-traffic.ts';

export interface StreamParts {
  readonly state: State;
  readonly clock: Clock;
  readonly log: Log;
  readonly identity: ServerIdentity;
  readonly addresses: ServerAddresses;
  readonly live: LiveStreams;
  readonly times: StreamTimeBoard;
  readonly traffic: StreamTraffic;
  readonly refusals: RefusalLog;
  readonly exporter: Exporter;
  readonly sessions: SessionTimes;
  /** `cluster.edition` */
  readonly edition: Edition;
  /** What we say that our version is. */
  readonly version: string;
}

/** What the dialing side needs besides. */
export interface DialerParts extends StreamParts {
  readonly connect: ConnectPeer;
  readonly secrets: SecretStore;
  /** Numbers from 0 up to 1, for the pauses. */
  readonly random: () => number;
}

/** Counts what a session carries, once it is known whose it is. */
export function watchSession(parts: StreamParts, peering: () => string | undefined): SessionOwner {
  const { state, times, traffic, log } = parts;
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
    failed(error) {
      const peeringId = peering();
      const named = peeringId === undefined ? undefined : peeringNamed(state.snapshot, peeringId);
      log.warn({ error, peering: named?.name }, 'something failed on a peer stream');
    },
  };
}
