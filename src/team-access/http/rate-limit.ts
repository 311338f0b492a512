/**
 * The rate limit of requests per second: per user over all tokens, per team, per organization token, and per address
 * for requests without a valid token. All counts share one time window, so the end of a window clears them together.
 *
 * Each team has its own limit, because with one limit per organization a single team could exhaust it. The teams of an
 * organization also share a second limit, so that creating teams does not multiply the limit.
 */
import type { Clock } from '../../state/clock/clock.ts';
import { JsonApiError } from '../jsonapi/errors.ts';
import { RATE_SHARES_MAX, RATE_WINDOW_MS } from '../limits.ts';

export interface RateLimitKeys {
  readonly key: string;
  /** A counter shared by several keys, with RATE_SHARES_MAX times the limit. */
  readonly sharedKey?: string;
}

export interface RateLimit {
  /** Counts a request. Returns rate limit headers, none without a limit. @throws JsonApiError `too-many-requests` */
  count(keys: RateLimitKeys): readonly string[];
}

export interface RateLimitSettings {
  /** `team-access.rate-limit`. 0 means no limit. */
  readonly rateLimit: number;
}

/** Creates a rate limit. Reads the setting for each request, because SIGHUP can change it. */
export function createRateLimit(clock: Clock, settings: RateLimitSettings): RateLimit {
  const counts = new Map<string, number>();
  let endsMs = Number.NEGATIVE_INFINITY;
  return {
    count({ key, sharedKey }) {
      const maximum = settings.rateLimit;
      if (maximum === 0) return [];
      const now = clock.monotonic();
      if (now >= endsMs) {
        counts.clear();
        endsMs = now + RATE_WINDOW_MS;
      }
      const count = (counts.get(key) ?? 0) + 1;
      const shared = sharedKey === undefined ? 0 : (counts.get(sharedKey) ?? 0) + 1;
      const remaining = Math.min(maximum - count, maximum * RATE_SHARES_MAX - shared);
      const resetSeconds = (endsMs - now) / 1_000;
      const headers = [
        ...['X-RateLimit-Limit', String(maximum), 'X-RateLimit-Remaining', String(Math.max(0, remaining))],
        ...['X-RateLimit-Reset', resetSeconds.toFixed(3)],
      ];
      if (remaining < 0) {
        throw new JsonApiError(
          [
            {
              code: 'too-many-requests',
              detail: count > maximum ? limitExceeded(maximum) : sharedLimitExceeded(maximum),
            },
          ],
          [...headers, ...['Retry-After', String(Math.ceil(resetSeconds))]],
        );
      }
      counts.set(key, count);
      if (sharedKey !== undefined) counts.set(sharedKey, shared);
      return headers;
    },
  };
}

const limitExceeded = (maximum: number): string => `more than ${maximum} requests a second`;
const sharedLimitExceeded = (maximum: number): string =>
  `the teams of the organization together made ${limitExceeded(maximum * RATE_SHARES_MAX)}`;
