/** The log of injected faults: counts them, and tells the checks which state the peerings may be in. */
import type { LinkStatus } from './check-peering-record.ts';
import { FAULTS, type FaultKind, type FaultName } from './faults.ts';

export interface FaultLog {
  /**
   * Grows when a disturbance starts or ends, and is odd during one. A disturbance is a fault or a memory measurement.
   */
  readonly count: number;
  /** Number of injected faults by name. */
  readonly faults: ReadonlyMap<FaultName, number>;
  linkStatus(): LinkStatus;
  /**
   * Returns `count` outside a disturbance, or undefined during one and before both sides were up for the first time.
   */
  calmCount(): number | undefined;
  beginFault(fault: FaultName): void;
  /** Records that the fault has ended. Its effects may remain visible until `recovered`. */
  endFault(): void;
  /** Records the start of a measurement, which slows the servers down. */
  beginMeasurement(): void;
  /** Records the end of a disturbance: both sides of every peering have recovered. */
  recovered(): void;
}

/** Creates an empty log. `now` returns the wall-clock time. */
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
    calmCount: () => (count > 0 && count % 2 === 0 ? count : undefined),
    linkStatus: () => ({ nowMs: now(), cutSinceMs, calmSinceMs }),
    beginFault(fault) {
      count += 1;
      faults.set(fault, (faults.get(fault) ?? 0) + 1);
      calmSinceMs = undefined;
      const { cutsPeerings }: FaultKind = FAULTS[fault];
      if (cutsPeerings) cutSinceMs = now();
    },
    endFault() {
      cutSinceMs = undefined;
    },
    beginMeasurement() {
      count += 1;
    },
    recovered() {
      count += 1;
      calmSinceMs ??= now();
    },
  };
}
