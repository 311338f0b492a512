/** Request counts and durations of each endpoint: plain numbers, so that counting costs almost nothing. */

/** Upper bounds of the duration histogram, in milliseconds. */
export const DURATION_BUCKETS_MS = [0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 1_000, 5_000] as const;

export interface Traffic {
  /** Responses by the first digit of their status, starting with 1xx. */
  readonly byClass: number[];
  /** Responses by duration, one number for each bucket. The last counts durations above all bounds. */
  readonly byDuration: number[];
  durationSumMs: number;
}

export interface EndpointTraffic {
  readonly method: string;
  readonly path: string;
  readonly traffic: Traffic;
}

export const createTraffic = (): Traffic => ({
  byClass: new Array<number>(5).fill(0),
  byDuration: new Array<number>(DURATION_BUCKETS_MS.length + 1).fill(0),
  durationSumMs: 0,
});

/** Counts a response. `durationMs` is `undefined` if the request waited as a blocking query. */
export function countAnswer(traffic: Traffic, status: number, durationMs: number | undefined): void {
  const statusClass = Math.floor(status / 100) - 1;
  traffic.byClass[statusClass] = (traffic.byClass[statusClass] ?? 0) + 1;
  if (durationMs === undefined) return;
  let bucket = 0;
  while (durationMs > (DURATION_BUCKETS_MS[bucket] ?? Number.POSITIVE_INFINITY)) bucket += 1;
  traffic.byDuration[bucket] = (traffic.byDuration[bucket] ?? 0) + 1;
  traffic.durationSumMs += durationMs;
}
