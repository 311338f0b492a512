/** The dependencies and settings that every operation on peerings receives. */
import type { Credentials } from '../credentials/caller.ts';
import type { Clock } from '../state/clock/clock.ts';
import type { SecretStore } from './record/encrypted-secret.ts';
import type { StreamTimesSource } from './record/record-to-json.ts';
import type { PeeringName } from './spans.ts';
import type { PeeringToken } from './token/token.ts';
import type { ServerIdentity } from './trust/identity.ts';

/** The other cluster could not be reached. The message has one line per address. */
export class ExchangeUnreachable extends Error {
  override readonly name = 'ExchangeUnreachable';
}

/** The other cluster rejected the establishment secret. */
export class ExchangeRefused extends Error {
  override readonly name = 'ExchangeRefused';
}

/**
 * Exchanges the establishment secret of a token with the cluster that generated it, and returns the stream secret.
 * @param peering the peering that traces name
 * @throws ExchangeRefused, ExchangeUnreachable
 */
export type Exchange = (token: PeeringToken, signal: AbortSignal, peering: PeeringName) => Promise<string>;

export interface PeeringService {
  readonly credentials: Credentials;
  readonly clock: Clock;
  readonly identity: ServerIdentity;
  readonly secrets: SecretStore;
  readonly exchange: Exchange;
  readonly streams: StreamTimesSource;
  /** Returns the addresses, `host:port`, that the servers of this cluster advertise: this server's first. */
  readonly addresses: () => readonly string[];
  /** `peering.token-ttl`, in milliseconds. 0: tokens do not expire. */
  readonly tokenTtlMs: number;
  /** `limits.peerings`. */
  readonly peeringsMax: number;
  /** `compat = consul`. */
  readonly consul: boolean;
}
