/**
 * What writers were told about things that have versions, and so what may be true of them.
 *
 * A write that was refused for certain changes nothing; one that was answered is true from then on; of one whose answer
 * was lost nobody knows, until somebody looks: what was seen once must stay.
 */
import assert from 'node:assert/strict';

/** A thing that is not there has no version. */
export type Version = number | 'none';

/** What its writer knows about a write. */
export type Outcome = 'done' | 'not-done' | 'unknown';

export interface Ledger {
  /** A write begins: from now on both may be true. @returns takes what came of it */
  begin(key: string, next: Version): (outcome: Outcome) => void;
  /**
   * Begins to read everything. @returns takes what was found, and compares the things that no write moved meanwhile
   * @throws AssertionError for a lost, half or undone write
   */
  read(): (found: ReadonlyMap<string, number>) => void;
  /** How many writes ended in which way. */
  readonly counts: Readonly<Record<Outcome, number>>;
}

interface Entry {
  readonly possible: Set<Version>;
  /** Counts the beginnings and ends of writes. */
  moves: number;
  /** Writes under way. */
  open: number;
}

export function createLedger(): Ledger {
  const entries = new Map<string, Entry>();
  const counts = { done: 0, 'not-done': 0, unknown: 0 };

  const entryOf = (key: string): Entry => {
    let entry = entries.get(key);
    if (entry === undefined) {
      entry = { possible: new Set(['none']), moves: 0, open: 0 };
      entries.set(key, entry);
    }
    return entry;
  };

  return {
    counts,
    begin(key, next) {
      const entry = entryOf(key);
      const before = [...entry.possible];
      entry.possible.add(next);
      entry.moves += 1;
      entry.open += 1;
      return (outcome) => {
        entry.moves += 1;
        entry.open -= 1;
        counts[outcome] += 1;
        if (outcome === 'unknown') return;
        entry.possible.clear();
        for (const version of outcome === 'done' ? [next] : before) entry.possible.add(version);
      };
    },
    read() {
      const still = [...entries].filter(([, { open }]) => open === 0).map(([key, { moves }]) => [key, moves] as const);
      return (found) => {
        for (const [key, moves] of still) {
          const { possible, moves: now } = entryOf(key);
          if (moves !== now) continue;
          const version = found.get(key) ?? 'none';
          assert.ok(possible.has(version), `${key} is ${version}, and may be ${[...possible].join(' or ')}`);
          possible.clear();
          possible.add(version);
        }
        for (const key of found.keys()) assert.ok(entries.has(key), `${key} was never written`);
      };
    },
  };
}
