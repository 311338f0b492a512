/** A histogram of durations in bounded memory. Buckets grow by 10 %, so quantiles are at most 10 % too high. */
const GROWTH = 1.1;
const FIRST_MS = 0.1;
/** The last bucket starts at two minutes, which no request takes. */
const BUCKETS = Math.ceil(Math.log(120_000 / FIRST_MS) / Math.log(GROWTH)) + 1;

export interface Histogram {
  readonly count: number;
  add(ms: number): void;
  /** Returns the duration in milliseconds that `share` (0 to 1) of all do not exceed, or undefined if it is empty. */
  quantile(share: number): number | undefined;
}

export function createHistogram(): Histogram {
  const buckets = new Uint32Array(BUCKETS);
  let count = 0;
  return {
    get count() {
      return count;
    },
    add(ms) {
      const bucket = ms <= FIRST_MS ? 0 : Math.ceil(Math.log(ms / FIRST_MS) / Math.log(GROWTH));
      const clamped = Math.min(bucket, BUCKETS - 1);
      buckets[clamped] = (buckets[clamped] ?? 0) + 1;
      count += 1;
    },
    quantile(share) {
      if (count === 0) return undefined;
      let remaining = Math.ceil(count * share);
      for (const [bucket, inBucket] of buckets.entries()) {
        remaining -= inBucket;
        if (remaining <= 0) return FIRST_MS * GROWTH ** bucket;
      }
      return FIRST_MS * GROWTH ** (BUCKETS - 1);
    },
  };
}
