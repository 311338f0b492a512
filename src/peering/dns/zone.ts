/** What answers depend on besides the question. */
import type { Credentials } from '../../credentials/operation.ts';

export interface Zone {
  readonly credentials: Credentials;
  /** `dns.domain`, in lower case. */
  readonly domain: string;
  /** `dns.ttl` */
  readonly ttlSeconds: number;
  /** The hash of the token that questions are answered with; undefined: the anonymous token. */
  readonly secretHash: string | undefined;
  /** Numbers from 0 up to 1. */
  readonly random: () => number;
}
