import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { counters, organizations } from '../../../test/support/state/tables.ts';
import { systemClock } from '../clock/clock.ts';
import type { AnyTable } from '../table.ts';
import { DerivedCache } from './derived-cache.ts';
import { RowCounts } from './row-counts.ts';
import { createSnapshot, type Snapshot } from './snapshot.ts';
import { cloneTableIndexes, emptyTableIndexes, type TableIndexes } from './table-indexes.ts';

const noBytes = (): number => 0;

describe('snapshot', () => {
  /** Returns functions that create snapshots with one cache, and that count their calls from 1. */
  const setUp = () => {
    const cache = new DerivedCache();
    let calls = 0;
    return {
      next: () => ++calls,
      snapshotOf(counterIndexes: TableIndexes, organizationIndexes = emptyTableIndexes(organizations)): Snapshot {
        const tables = new Map<AnyTable, TableIndexes>([
          [counters, counterIndexes],
          [organizations, organizationIndexes],
        ]);
        const content = { tables, rowCounts: RowCounts.empty() };
        return createSnapshot(
          { cluster: 'c', epoch: 1, index: 1, mayHaveOrphans: false, ...content },
          systemClock,
          cache,
        );
      },
    };
  };

  it('memoizes a value once per key, separately from other snapshots [STATE-62]', () => {
    const { next, snapshotOf } = setUp();
    const indexes = emptyTableIndexes(counters);
    const snapshot = snapshotOf(indexes);
    assert.deepEqual(
      ['a', 'a', 'b'].map((key) => snapshot.memoize(key, next, noBytes)),
      [1, 1, 2],
    );
    assert.equal(snapshotOf(indexes).memoize('a', next, noBytes), 3);
  });

  it('memoizes a value across snapshots until its table changes [STATE-62]', () => {
    const { next, snapshotOf } = setUp();
    const indexes = emptyTableIndexes(counters);
    const memoize = (snapshot: Snapshot, table: typeof counters | typeof organizations, key: string): number =>
      snapshot.memoizeWhileUnchanged(table, key, next, noBytes);
    assert.equal(memoize(snapshotOf(indexes), counters, 'a'), 1);
    assert.equal(memoize(snapshotOf(indexes, emptyTableIndexes(organizations)), counters, 'a'), 1);
    assert.equal(memoize(snapshotOf(indexes), counters, 'b'), 2);
    assert.equal(memoize(snapshotOf(indexes), organizations, 'a'), 3);
    assert.equal(memoize(snapshotOf(cloneTableIndexes(indexes)), counters, 'a'), 4);
  });
});
