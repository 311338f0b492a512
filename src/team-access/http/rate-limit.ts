/**
 * How many requests a second somebody may make: a user with all tokens together, a team, an organization, an address
 * without a good token. Requests are counted in windows that are the same for all, so that nothing is left to forget.
 *
 * A team's token has no user, so each team has an allowance of its own: counted by their organization, one team could
 * leave nothing to the others. So that many teams do not make many allowances, those of an organization share another one.
 */
import type { Clock } from '../../state/clock/clock.ts';
import { JsonApiError } from '../jsonapi/errors.ts';
import { RATE_SHARES_MAX, RATE_WINDOW_MS } from '../limits.ts';

/** Whose a request is. */
export interface Counted {
  readonly who: string;
  /** Whose requests count together with theirs, RATE_SHARES_MAX allowances for all of them. */
  readonly sharing?: string;
}

export interface RateLimit {
  /**
   * Counts a request. @returns the headers that tell how much is left; none where there is no limit
   * @throws JsonApiError `too-many-requests`
   */
  count(counted: Counted): readonly string[];
}

/** @param limit `team-access.rate-limit` as it is now; 0: none */
export function createRateLimit(clock: Clock, limit: () => number): RateLimit {
  const counts = new Map<string, number>();
  let endsMs = Number.NEGATIVE_INFINITY;
  return {
    count({ who, sharing }) {
      const most = limit();
      if (most === 0) return [];
      const now = clock.monotonic();
      if (now >= endsMs) {
        counts.clear();
        endsMs = now + RATE_WINDOW_MS;
      }
      const count = (counts.get(who) ?? 0) + 1;
      const shared = sharing === undefined ? 0 : (counts.get(sharing) ?? 0) + 1;
      const left = Math.min(most - count, most * RATE_SHARES_MAX - shared);
      const restSeconds = (endsMs - now) / 1_000;
      const headers = [
        ...['X-RateLimit-Limit', String(most), 'X-RateLimit-Remaining', String(Math.max(0, left))],
        ...['X-RateLimit-Reset', restSeconds.toFixed(3)],
      ];
      if (left < 0) {
        throw new JsonApiError(
          [{ code: 'too-many-requests', detail: count > most ? tooMany(most) : tooManyTogether(most) }],
          [...headers, ...['Retry-After', String(Math.ceil(restSeconds))]],
        );
      }
      counts.set(who, count);
      if (sharing !== undefined) counts.set(sharing, shared);
      return headers;
    },
  };
}

const tooMany = (most: number): string => `more than ${most} requests a second`;
/** Whose own allowance is not used up is told about the other one. */
const tooManyTogether = (most: number): string =>
  `the teams of the organization together made ${tooMany(most * RATE_SHARES_MAX)}`;
