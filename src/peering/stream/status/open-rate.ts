/**
 * The rate limit on opening the streams of one peering ([STREAM-29]). Each stream costs a commit and two log lines and
 * ends the previous one, so a faulty or hostile peer must not open them in a loop.
 */
import type { Clock } from '../../../state/clock/clock.ts';
import { BACKOFF_MS_MIN, STREAM_OPENS_BURST } from '../../limits.ts';

export interface OpenRate {
  /** Whether the peering can open a stream now. If so, the stream is counted. */
  tryAcquire(peeringId: string): boolean;
}

/** Allows STREAM_OPENS_BURST streams at once, then one every BACKOFF_MS_MIN. */
export function createOpenRate(clock: Clock): OpenRate {
  /** When a peering's full burst is available again, in monotonic milliseconds. Past entries are removed. */
  const refilledAt = new Map<string, number>();
  const removeRefilled = (now: number): void => {
    for (const [peeringId, at] of refilledAt) if (at <= now) refilledAt.delete(peeringId);
  };
  return {
    tryAcquire(peeringId) {
      const now = clock.monotonic();
      removeRefilled(now);
      const from = refilledAt.get(peeringId) ?? now;
      if (from - now > (STREAM_OPENS_BURST - 1) * BACKOFF_MS_MIN) return false;
      refilledAt.set(peeringId, from + BACKOFF_MS_MIN);
      return true;
    },
  };
}
