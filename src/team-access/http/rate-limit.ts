/**
 * The rate limit of requests per second: per person over all tokens that the person made, per team, per organization
 * token, and per address for requests without a valid token. All counts share one time window, so the end of a window
 * clears them together.
 *
 * Each team has its own limit, because with one limit per organization a single team could exhaust it. The teams of an
 * organization also share a second limit, so that creating teams does not multiply the limit. For the same reason, the
 * token of a team or an organization counts for the user who created it, too.
 */
import type { Measured } from '../../budget/measured.ts';
import { ServiceError } from '../../http/errors.ts';
import type { Clock } from '../../state/clock/clock.ts';
import { RATE_SHARES_MAX, RATE_WINDOW_MS } from '../limits.ts';

/** The subject of a counter. */
export type RateBound = 'caller' | 'teams' | 'creator' | 'address';

export interface RateCounter {
  readonly bound: RateBound;
  /** Unique among the counters of all bounds. */
  readonly key: string;
}

export interface RateLimit extends Measured {
  /** Counts a request. Returns rate limit headers, none without a limit. @throws ServiceError `rate-limited` */
  count(counters: readonly RateCounter[]): readonly string[];
}

export interface RateLimitSettings {
  /** `team-access.rate-limit`. 0 means no limit. */
  readonly rateLimit: number;
}

/** Creates a rate limit. Reads the setting for each request, because SIGHUP can change it. */
export function createRateLimit(clock: Clock, settings: RateLimitSettings): RateLimit {
  const counts = new Map<string, number>();
  const refused = new Map<RateBound, number>(BOUNDS.map((bound) => [bound, 0]));
  let endsMs = Number.NEGATIVE_INFINITY;
  return {
    name: 'team-access-requests',
    refused,
    measure: () => BOUNDS.map((bound) => ({ bound, max: maximumOf(bound, settings.rateLimit) })),
    count(counters) {
      const { rateLimit } = settings;
      if (rateLimit === 0) return [];
      const now = clock.monotonic();
      if (now >= endsMs) {
        counts.clear();
        endsMs = now + RATE_WINDOW_MS;
      }
      let remaining = rateLimit;
      let exceeded: RateBound | undefined;
      for (const { bound, key } of counters) {
        const left = maximumOf(bound, rateLimit) - (counts.get(key) ?? 0) - 1;
        remaining = Math.min(remaining, left);
        if (left < 0) exceeded ??= bound;
      }
      const resetSeconds = (endsMs - now) / 1_000;
      const headers = [
        ...['X-RateLimit-Limit', String(rateLimit), 'X-RateLimit-Remaining', String(Math.max(0, remaining))],
        ...['X-RateLimit-Reset', resetSeconds.toFixed(3)],
      ];
      if (exceeded !== undefined) {
        refused.set(exceeded, (refused.get(exceeded) ?? 0) + 1);
        const detail = `${PREFIXES[exceeded]}more than ${maximumOf(exceeded, rateLimit)} requests a second`;
        throw new ServiceError('rate-limited', detail, { retryAfterSeconds: Math.ceil(resetSeconds), headers });
      }
      for (const { key } of counters) counts.set(key, (counts.get(key) ?? 0) + 1);
      return headers;
    },
  };
}

const BOUNDS: readonly RateBound[] = ['caller', 'teams', 'creator', 'address'];

const maximumOf = (bound: RateBound, rateLimit: number): number =>
  bound === 'teams' ? rateLimit * RATE_SHARES_MAX : rateLimit;

/** The start of the message, by the counter that is exceeded. */
const PREFIXES: Readonly<Record<RateBound, string>> = {
  caller: '',
  address: '',
  teams: 'the teams of the organization together made ',
  creator: 'the tokens of the user who created this token together made ',
};
