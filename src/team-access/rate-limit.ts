/**
 * How many requests a second somebody may make: a user with all tokens together, a team, an organization, an address
 * without a good token. Requests are counted in windows that are the same for all, so that nothing is left to forget.
 */
import type { Clock } from '../state/clock.ts';
import { JsonApiError } from './jsonapi/errors.ts';
import { RATE_WINDOW_MS } from './limits.ts';

export interface RateLimit {
  /**
   * Counts a request of `who`. @returns the headers that tell how much is left; none where there is no limit
   * @throws JsonApiError `too-many-requests`
   */
  count(who: string): readonly string[];
}

/** @param limit `team-access.rate-limit` as it is now; 0: none */
export function createRateLimit(clock: Clock, limit: () => number): RateLimit {
  const counts = new Map<string, number>();
  let endsMs = Number.NEGATIVE_INFINITY;
  return {
    count(who) {
      const most = limit();
      if (most === 0) return [];
      const now = clock.monotonic();
      if (now >= endsMs) {
        counts.clear();
        endsMs = now + RATE_WINDOW_MS;
      }
      const count = (counts.get(who) ?? 0) + 1;
      const restSeconds = (endsMs - now) / 1_000;
      const headers = [
        ...['X-RateLimit-Limit', String(most), 'X-RateLimit-Remaining', String(Math.max(0, most - count))],
        ...['X-RateLimit-Reset', restSeconds.toFixed(3)],
      ];
      if (count > most) {
        throw new JsonApiError(
          [{ code: 'too-many-requests', detail: `more than ${most} requests a second` }],
          [...headers, ...['Retry-After', String(Math.ceil(restSeconds))]],
        );
      }
      counts.set(who, count);
      return headers;
    },
  };
}
