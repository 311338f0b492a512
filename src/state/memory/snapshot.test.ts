import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { counters, organizations } from '../../../test/support/state/tables.ts';
import { systemClock } from '../clock/clock.ts';
import type { AnyTable } from '../table.ts';
import { createSnapshot, type Snapshot } from './snapshot.ts';
import { cloneTableIndexes, emptyTableIndexes, type TableIndexes } from './table-indexes.ts';

const snapshotOf = (counterIndexes: TableIndexes, organizationIndexes = emptyTableIndexes(organizations)): Snapshot =>
  createSnapshot(
    {
      cluster: 'c',
      epoch: 1,
      index: 1,
      mayHaveOrphans: false,
      tables: new Map<AnyTable, TableIndexes>([
        [counters, counterIndexes],
        [organizations, organizationIndexes],
      ]),
    },
    systemClock,
  );

describe('snapshot', () => {
  /** A function that counts its calls from 1. */
  const callCounter = () => {
    let last = 0;
    return () => ++last;
  };

  it('memoizes a value once per key, separately from other snapshots [STATE-62]', () => {
    const indexes = emptyTableIndexes(counters);
    const snapshot = snapshotOf(indexes);
    const next = callCounter();
    assert.deepEqual(
      ['a', 'a', 'b'].map((key) => snapshot.memoize(key, next, () => 8)),
      [1, 1, 2],
    );
    assert.equal(
      snapshotOf(indexes).memoize('a', next, () => 8),
      3,
    );
  });

  it('memoizes a value across snapshots until its table changes', () => {
    const indexes = emptyTableIndexes(counters);
    const next = callCounter();
    assert.equal(snapshotOf(indexes).memoizeWhileUnchanged(counters, 'a', next), 1);
    assert.equal(snapshotOf(indexes, emptyTableIndexes(organizations)).memoizeWhileUnchanged(counters, 'a', next), 1);
    assert.equal(snapshotOf(indexes).memoizeWhileUnchanged(counters, 'b', next), 2);
    assert.equal(snapshotOf(indexes).memoizeWhileUnchanged(organizations, 'a', next), 3);
    assert.equal(snapshotOf(cloneTableIndexes(indexes)).memoizeWhileUnchanged(counters, 'a', next), 4);
  });
});
