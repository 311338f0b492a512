/**
 * A rate by key: a token bucket for each key, such as a token or an address. A bucket holds `burst` units and refills at
 * `perSecond`. It is stored as one number, the time at which it is full again (the generic cell rate algorithm).
 *
 * Memory is bounded: buckets are kept in two generations, and the older one is dropped when the newer one is full. A key
 * is therefore forgotten, and starts with a full bucket, only after RATE_KEYS_MAX other keys were used.
 */
import { RATE_KEYS_MAX } from './limits.ts';
import type { Measured } from './measured.ts';

export interface RateLimits {
  /** Units per second. 0 means no limit. */
  readonly perSecond: number;
  /** Units that a key can take at once after a pause. Default: `perSecond`. */
  readonly burst?: number;
}

export interface RateOptions {
  /** Label of the metrics. */
  readonly name: string;
  /** Label of the bound in metrics: what a key is, such as `token` or `address`. */
  readonly bound: string;
  /** Read for each use, so the owner may change them. */
  readonly limits: RateLimits;
  readonly clock: { monotonic(): number };
  /** Default: RATE_KEYS_MAX. */
  readonly keysMax?: number;
}

export interface Rate extends Measured {
  /**
   * Takes units from the key's bucket. An amount above the burst is taken from a full bucket, and delays the next one.
   * @returns 0, or the milliseconds until the amount is available; then nothing was taken
   */
  take(key: string, amount?: number): number;
  /** Whether the key was used lately. */
  has(key: string): boolean;
}

export function createRate({ name, bound, limits, clock, keysMax = RATE_KEYS_MAX }: RateOptions): Rate {
  const refused = new Map<string, number>([[bound, 0]]);
  /** The monotonic time at which a bucket is full again, by key. A key that is missing has a full bucket. */
  let newer = new Map<string, number>();
  let older = new Map<string, number>();

  function set(key: string, fullAtMs: number): void {
    if (newer.size >= keysMax && !newer.has(key)) {
      older = newer;
      newer = new Map();
    }
    newer.set(key, fullAtMs);
  }

  return {
    name,
    refused,
    take(key, amount = 1) {
      const { perSecond, burst = perSecond } = limits;
      if (perSecond === 0) return 0;
      const now = clock.monotonic();
      const fullAtMs = Math.max(newer.get(key) ?? older.get(key) ?? now, now);
      const nextMs = fullAtMs + (amount * 1_000) / perSecond;
      const waitMs = nextMs - now - (burst * 1_000) / perSecond;
      if (waitMs > ROUNDING_MS && fullAtMs > now) {
        // A key that is refused must not be forgotten.
        set(key, fullAtMs);
        refused.set(bound, (refused.get(bound) ?? 0) + 1);
        return Math.min(waitMs, fullAtMs - now);
      }
      set(key, nextMs);
      return 0;
    },
    has: (key) => newer.has(key) || older.has(key),
    measure: () => [{ bound, max: limits.perSecond }],
  };
}

/** Sums of fractions of a millisecond are inexact. A bucket of 30 units must not refuse the 30th. */
const ROUNDING_MS = 1e-6;
