/** What every operation on peerings gets. */
import type { Credentials } from '../credentials/operation.ts';
import type { Clock } from '../state/clock/clock.ts';
import type { SecretStore } from './record/encrypted-secret.ts';
import type { PeeringName } from './spans.ts';
import type { PeeringToken } from './token/token.ts';
import type { ServerIdentity } from './trust/identity.ts';

/** When a peering's stream last did something, in milliseconds since 1970; exact on the stream's own server. */
export interface StreamTimes {
  readonly heartbeatMs?: number;
  readonly receiveMs?: number;
  readonly sendMs?: number;
}

/** The times of all peerings' streams, as this server knows them. */
export interface StreamClock {
  of(peeringId: string): StreamTimes | undefined;
  /** Another number when some time has changed, at most once a second: what is made of the times can be kept for it. */
  readonly tick: number;
}

/** Where the other cluster could not be reached, a line for each address. */
export class ExchangeUnreachable extends Error {
  override readonly name = 'ExchangeUnreachable';
}

/** The other cluster does not take the secret. */
export class ExchangeRefused extends Error {
  override readonly name = 'ExchangeRefused';
}

/**
 * Gives a token's establishment secret to the cluster that made it, and gets a stream secret for it.
 * @param peering what it is for, as traces name it
 * @throws ExchangeRefused, ExchangeUnreachable
 */
export type Exchange = (token: PeeringToken, signal: AbortSignal, peering: PeeringName) => Promise<string>;

export interface PeeringService {
  readonly credentials: Credentials;
  readonly clock: Clock;
  readonly identity: ServerIdentity;
  readonly secrets: SecretStore;
  readonly exchange: Exchange;
  readonly streams: StreamClock;
  /** `host:port` under which other clusters reach the servers of this one: its own first, then those of the others. */
  readonly addresses: () => readonly string[];
  /** `peering.token-ttl`; 0: tokens do not expire. */
  readonly tokenTtlMs: number;
  /** `limits.peerings`. */
  readonly peeringsMax: number;
  /** `compat = consul`. */
  readonly consul: boolean;
}
