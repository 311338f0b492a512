/** What is counted of the requests of an endpoint: plain numbers, so that counting costs next to nothing. */

/** Upper bounds of the histogram of durations, in milliseconds. */
export const DURATION_BUCKETS_MS = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 1_000, 5_000] as const;

export interface Traffic {
  /** Answers by the first digit of their status, from 1xx on. */
  readonly byClass: number[];
  /** Answers within each bound and above the bound before it; the last counts what took longer. */
  readonly byDuration: number[];
  durationSumMs: number;
}

/** What an endpoint was asked so far. */
export interface EndpointTraffic {
  readonly method: string;
  readonly path: string;
  readonly traffic: Traffic;
}

/** Nothing counted yet. */
export const createTraffic = (): Traffic => ({
  byClass: new Array<number>(5).fill(0),
  byDuration: new Array<number>(DURATION_BUCKETS_MS.length + 1).fill(0),
  durationSumMs: 0,
});

/** Counts an answer. `durationMs` is `undefined` for one that was held back on purpose. */
export function countAnswer(traffic: Traffic, status: number, durationMs: number | undefined): void {
  const place = Math.floor(status / 100) - 1;
  traffic.byClass[place] = (traffic.byClass[place] ?? 0) + 1;
  if (durationMs === undefined) return;
  let bucket = 0;
  while (durationMs > (DURATION_BUCKETS_MS[bucket] ?? Number.POSITIVE_INFINITY)) bucket += 1;
  traffic.byDuration[bucket] = (traffic.byDuration[bucket] ?? 0) + 1;
  traffic.durationSumMs += durationMs;
}
