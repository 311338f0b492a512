/** Outcomes and latencies of all requests, by kind of resource and of request. */
import { createHistogram, type Histogram } from './histogram.ts';
import type { Outcome } from './model.ts';

/** One row of the report. */
export interface RequestStat {
  /** Such as `partition put`. */
  readonly label: string;
  readonly outcomes: Record<Outcome, number>;
  /** Number of `unavailable` and `unknown` requests without a fault. */
  calmFailures: number;
  /** Latencies of the responses without a fault. */
  readonly calmLatencies: Histogram;
}

export interface CompletedRequest {
  readonly label: string;
  readonly outcome: Outcome;
  readonly durationMs: number;
  /** Whether no fault was active between its start and its end. */
  readonly isCalm: boolean;
}

export interface RequestStats {
  /** The rows in the order of their labels. */
  readonly rows: readonly RequestStat[];
  add(request: CompletedRequest): void;
}

export function createRequestStats(): RequestStats {
  const rows = new Map<string, RequestStat>();
  return {
    get rows() {
      return [...rows.values()].sort((a, b) => (a.label < b.label ? -1 : 1));
    },
    add({ label, outcome, durationMs, isCalm }) {
      let row = rows.get(label);
      if (row === undefined) {
        const outcomes = { done: 0, rejected: 0, unavailable: 0, unknown: 0 };
        row = { label, outcomes, calmFailures: 0, calmLatencies: createHistogram() };
        rows.set(label, row);
      }
      row.outcomes[outcome] += 1;
      if (!isCalm) return;
      if (outcome === 'done' || outcome === 'rejected') row.calmLatencies.add(durationMs);
      else row.calmFailures += 1;
    },
  };
}
