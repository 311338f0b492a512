/** What was asked and how it ended, by kind of thing and of request. */
import { createHistogram, type Histogram } from './histogram.ts';
import type { Outcome } from './known.ts';

/** One line of the table. */
export interface Count {
  /** Such as `partition put`. */
  readonly label: string;
  readonly outcomes: Record<Outcome, number>;
  /** `unavailable` and `unknown` while no fault was under way. */
  calmFailures: number;
  /** Of answers while no fault was under way, and none had just been. */
  readonly calm: Histogram;
}

export interface Ended {
  readonly label: string;
  readonly outcome: Outcome;
  readonly tookMs: number;
  /** No fault was under way from its beginning to its end. */
  readonly calm: boolean;
}

export interface Tally {
  readonly counts: readonly Count[];
  add(ended: Ended): void;
}

export function createTally(): Tally {
  const counts = new Map<string, Count>();
  return {
    get counts() {
      return [...counts.values()].sort((a, b) => (a.label < b.label ? -1 : 1));
    },
    add({ label, outcome, tookMs, calm }) {
      let count = counts.get(label);
      if (count === undefined) {
        const outcomes = { done: 0, refused: 0, unavailable: 0, unknown: 0 };
        count = { label, outcomes, calmFailures: 0, calm: createHistogram() };
        counts.set(label, count);
      }
      count.outcomes[outcome] += 1;
      if (!calm) return;
      if (outcome === 'done' || outcome === 'refused') count.calm.add(tookMs);
      else count.calmFailures += 1;
    },
  };
}
