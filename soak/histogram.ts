/** Durations in buckets that grow by a tenth: bounded memory, quantiles to within a tenth. */
const GROWTH = 1.1;
const FIRST_MS = 0.1;
/** The last bucket begins at two minutes: nothing is waited for that long. */
const BUCKETS = Math.ceil(Math.log(120_000 / FIRST_MS) / Math.log(GROWTH)) + 1;

export interface Histogram {
  readonly count: number;
  add(ms: number): void;
  /** The duration that a share of all do not exceed, in milliseconds; undefined when there are none. */
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
      const at = Math.min(bucket, BUCKETS - 1);
      buckets[at] = (buckets[at] ?? 0) + 1;
      count += 1;
    },
    quantile(share) {
      if (count === 0) return undefined;
      let left = Math.ceil(count * share);
      for (const [at, inBucket] of buckets.entries()) {
        left -= inBucket;
        if (left <= 0) return FIRST_MS * GROWTH ** at;
      }
      return FIRST_MS * GROWTH ** (BUCKETS - 1);
    },
  };
}
