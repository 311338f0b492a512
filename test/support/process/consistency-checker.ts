/**
 * Checks reads of versioned objects against the outcomes of the writes to them.
 *
 * An acknowledged write is visible from then on. A rejected write never becomes visible. A write without a response may
 * be visible or not until the first read that returns the object. That read decides.
 */
import assert from 'node:assert/strict';

/** The version of an object. A missing object has the version `none`. */
export type Version = number | 'none';

/** The result of a write, as far as its client knows it. Without a response, the result is unknown. */
export type Outcome = 'acknowledged' | 'rejected' | 'unknown';

export interface ConsistencyChecker {
  /** Records the start of a write. @returns a function that records its outcome */
  beginWrite(key: string, next: Version): (outcome: Outcome) => void;
  /**
   * Records the start of a read of all objects. @returns a function that checks the result, for the objects without a
   * concurrent write
   * @throws AssertionError for a lost write, a rejected write that is visible, and an object that was never written
   */
  beginRead(): (found: ReadonlyMap<string, number>) => void;
  /** Number of finished writes per outcome. */
  readonly counts: Readonly<Record<Outcome, number>>;
}

interface ObjectHistory {
  /** The versions that a read may return. */
  readonly possible: Set<Version>;
  /** Number of starts and ends of writes. A read with the same number before and after had no concurrent write. */
  changes: number;
  /** Number of writes without an outcome. */
  inFlight: number;
}

export function createConsistencyChecker(): ConsistencyChecker {
  const histories = new Map<string, ObjectHistory>();
  const counts = { acknowledged: 0, rejected: 0, unknown: 0 };

  const historyOf = (key: string): ObjectHistory => {
    let history = histories.get(key);
    if (history === undefined) {
      history = { possible: new Set(['none']), changes: 0, inFlight: 0 };
      histories.set(key, history);
    }
    return history;
  };

  return {
    counts,
    beginWrite(key, next) {
      const history = historyOf(key);
      const before = [...history.possible];
      history.possible.add(next);
      history.changes += 1;
      history.inFlight += 1;
      return (outcome) => {
        history.changes += 1;
        history.inFlight -= 1;
        counts[outcome] += 1;
        if (outcome === 'unknown') return;
        history.possible.clear();
        for (const version of outcome === 'acknowledged' ? [next] : before) history.possible.add(version);
      };
    },
    beginRead() {
      const idle = [...histories]
        .filter(([, { inFlight }]) => inFlight === 0)
        .map(([key, { changes }]) => [key, changes] as const);
      return (found) => {
        for (const [key, changesBefore] of idle) {
          const { possible, changes } = historyOf(key);
          if (changes !== changesBefore) continue;
          const version = found.get(key) ?? 'none';
          assert.ok(possible.has(version), `${key} has version ${version}, want ${[...possible].join(' or ')}`);
          possible.clear();
          possible.add(version);
        }
        for (const key of found.keys()) assert.ok(histories.has(key), `${key} was never written`);
      };
    },
  };
}
