/**
 * The rate limit on opening the streams of one peering ([STREAM-29]). Each stream costs a commit and two log lines and
 * ends the previous one, so a faulty or hostile peer must not open them in a loop.
 */
import type { Clock } from '../../../state/clock/clock.ts';
import { BACKOFF_MS_MIN, OPEN_RECORD_BYTES, STREAM_OPENS_BURST } from '../../limits.ts';

export interface OpenRate {
  /**
   * Whether the peering can open a stream now. If so, the stream is counted.
   * @param recordBytes the size of the record, which is rewritten at the start and the end of the stream
   */
  tryAcquire(peeringId: string, recordBytes: number): boolean;
}

/** Allows STREAM_OPENS_BURST streams at once, then one every BACKOFF_MS_MIN. A stream of a large record counts as several. */
export function createOpenRate(clock: Clock): OpenRate {
  /** When a peering's full burst is available again, in monotonic milliseconds. Past entries are removed. */
  const refilledAt = new Map<string, number>();
  const removeRefilled = (now: number): void => {
    for (const [peeringId, at] of refilledAt) if (at <= now) refilledAt.delete(peeringId);
  };
  return {
    tryAcquire(peeringId, recordBytes) {
      const now = clock.monotonic();
      removeRefilled(now);
      const from = refilledAt.get(peeringId) ?? now;
      if (from - now > (STREAM_OPENS_BURST - 1) * BACKOFF_MS_MIN) return false;
      refilledAt.set(peeringId, from + (1 + Math.floor(recordBytes / OPEN_RECORD_BYTES)) * BACKOFF_MS_MIN);
      return true;
    },
  };
}
