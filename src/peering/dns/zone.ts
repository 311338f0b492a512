/** The settings and dependencies of DNS answers. */
import type { Credentials } from '../../credentials/caller.ts';

export interface Zone {
  readonly credentials: Credentials;
  /** `dns.domain`, in lower case. */
  readonly domain: string;
  /** `dns.ttl` */
  readonly ttlSeconds: number;
  /** The hash of the ACL token whose grants apply to all questions. `undefined`: the anonymous token. */
  readonly secretHash: string | undefined;
  /** Returns a number from 0 up to 1, as `Math.random` does. */
  readonly random: () => number;
}
