/**
 * How often the streams of one peering may be opened. Each is a commit and two lines of log, and ends the one before: a
 * peer that opens them in a loop, broken or hostile, must not be able to fill either.
 */
import type { Clock } from '../../../state/clock/clock.ts';
import { STREAM_OPENS_BURST, STREAM_OPENS_MS } from '../../limits.ts';

export interface OpenRate {
  /** Whether the peering may have another stream now, which then counts. */
  take(peeringId: string): boolean;
}

/** STREAM_OPENS_BURST at once, then one every STREAM_OPENS_MS. */
export function createOpenRate(clock: Clock): OpenRate {
  /** When all that a peering has used of its burst is given back, monotonic; those of the past say nothing. */
  const restedAt = new Map<string, number>();
  const forgetRested = (now: number): void => {
    for (const [peeringId, at] of restedAt) if (at <= now) restedAt.delete(peeringId);
  };
  return {
    take(peeringId) {
      const now = clock.monotonic();
      forgetRested(now);
      const from = restedAt.get(peeringId) ?? now;
      if (from - now > (STREAM_OPENS_BURST - 1) * STREAM_OPENS_MS) return false;
      restedAt.set(peeringId, from + STREAM_OPENS_MS);
      return true;
    },
  };
}
