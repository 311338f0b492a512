/** The dependencies of the acceptor and the dialer, and the session callbacks that they share. */
import type { Edition } from '../../credentials/partition.ts';
import type { Log } from '../../http/telemetry/log.ts';
import type { Clock } from '../../state/clock/clock.ts';
import type { State } from '../../state/state.ts';
import type { Exporter } from '../export/exporter.ts';
import type { SecretStore } from '../record/encrypted-secret.ts';
import { lookupPeeringName } from '../spans.ts';
import type { ServerIdentity } from '../trust/identity.ts';
import type { SessionCallbacks, SessionTimes } from './contract.ts';
import type { ImportBudgets } from './importing/import-budgets.ts';
import type { LiveStreams } from './status/live-streams.ts';
import type { RefusalLog } from './status/refusal-log.ts';
import type { ServerAddresses } from './status/server-addresses.ts';
import type { StreamTimesTracker } from './status/stream-times.ts';
import type { StreamTraffic } from './status/stream-traffic.ts';
import type { ReplicationMessage } from './wire/gen/peering/peerstream_pb.ts';

export interface StreamDependencies {
  readonly state: State;
  readonly clock: Clock;
  readonly log: Log;
  readonly identity: ServerIdentity;
  readonly addresses: ServerAddresses;
  readonly live: LiveStreams;
  readonly times: StreamTimesTracker;
  readonly traffic: StreamTraffic;
  readonly refusals: RefusalLog;
  readonly budgets: ImportBudgets;
  readonly exporter: Exporter;
  readonly sessions: SessionTimes;
  /** `cluster.edition` */
  readonly edition: Edition;
  readonly version: string;
}

/** The address of a peer's server, and the certificates that identify it. */
export interface PeerTarget {
  /** `host:port` */
  readonly address: string;
  /** The DNS name that the server's certificate must contain. */
  readonly serverName: string;
  /** The CA certificates to verify the server against, in PEM. */
  readonly roots: readonly string[];
}

/** A connection to a peer's server. Its calls reject with a ConnectError. */
export interface PeerConnection {
  /** The version in the peer's response headers. Undefined before the first response and for other software. */
  readonly version: string | undefined;
  /** Exchanges an establishment secret for a stream secret. */
  exchange(peerId: string, establishmentSecret: string, signal: AbortSignal): Promise<string>;
  /** Opens the stream. The first message of `outgoing` is Open. */
  stream(outgoing: AsyncIterable<ReplicationMessage>, signal: AbortSignal): AsyncIterable<ReplicationMessage>;
  /** Closes the connection and aborts its calls. */
  close(): void;
}

/** Creates a connection, which is established by its first call. */
export type ConnectPeer = (target: PeerTarget) => PeerConnection;

export interface DialerDependencies extends StreamDependencies {
  readonly connect: ConnectPeer;
  readonly secrets: SecretStore;
  /** Returns a number from 0 up to 1, for the jitter of pauses. */
  readonly random: () => number;
}

/** Returns callbacks that record a session's traffic. @param peering returns the peering's ID, once it is known */
export function recordTraffic(parts: StreamDependencies, peering: () => string | undefined): SessionCallbacks {
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
      const named = peeringId === undefined ? undefined : lookupPeeringName(state.snapshot, peeringId);
      log.warn({ error, peering: named?.name }, 'peer stream error');
    },
  };
}
