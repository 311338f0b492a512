/** What has been done to the world, for those who judge what it says. */
import { FAULTS, type FaultKind, type FaultName } from './faults.ts';
import type { LinkFacts } from './judge-record.ts';

export interface FaultLog {
  /** Grows whenever something begins or ends to be in the way; odd while something is. */
  readonly count: number;
  /** How often there was which fault. */
  readonly faults: ReadonlyMap<FaultName, number>;
  facts(): LinkFacts;
  /** The count while nothing is in the way, and both ends have come back since the last fault; undefined otherwise. */
  quiet(): number | undefined;
  /** A fault begins. */
  begin(fault: FaultName): void;
  /** It is over, and its traces may still be seen: both ends have to come back first. */
  heal(): void;
  /** Something else begins that makes servers slow. */
  disturb(): void;
  /** Everything is as it was. */
  settle(): void;
}

/** An empty one. `now`: the wall clock. */
export function createFaultLog(now: () => number): FaultLog {
  const faults = new Map<FaultName, number>();
  let count = 0;
  let cutSinceMs: number | undefined;
  let calmSinceMs: number | undefined;
  return {
    get count() {
      return count;
    },
    faults,
    quiet: () => (count > 0 && count % 2 === 0 ? count : undefined),
    facts: () => ({ atMs: now(), cutSinceMs, calmSinceMs }),
    begin(fault) {
      count += 1;
      faults.set(fault, (faults.get(fault) ?? 0) + 1);
      calmSinceMs = undefined;
      const { cutsPeerings }: FaultKind = FAULTS[fault];
      if (cutsPeerings) cutSinceMs = now();
    },
    heal() {
      cutSinceMs = undefined;
    },
    disturb() {
      count += 1;
    },
    settle() {
      count += 1;
      calmSinceMs ??= now();
    },
  };
}
