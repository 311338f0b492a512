import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { counters, organizations } from '../../../test/support/state/tables.ts';
import { systemClock } from '../clock/clock.ts';
import type { AnyTable } from '../table.ts';
import { createSnapshot, type Snapshot } from './snapshot.ts';
import { cloneTrees, emptyTrees, type TableTrees } from './table-indexes.ts';

const snapshotOf = (countersTrees: TableTrees, organizationsTrees = emptyTrees(organizations)): Snapshot =>
  createSnapshot(
    {
      cluster: 'c',
      epoch: 1,
      index: 1,
      ownersInDoubt: false,
      trees: new Map<AnyTable, TableTrees>([
        [counters, countersTrees],
        [organizations, organizationsTrees],
      ]),
    },
    systemClock,
  );

describe('what a snapshot remembers', () => {
  /** Numbers, each given once. */
  const numbers = () => {
    let last = 0;
    return () => ++last;
  };

  it('is made once for a key, and is not known to another snapshot', () => {
    const trees = emptyTrees(counters);
    const snapshot = snapshotOf(trees);
    const next = numbers();
    assert.deepEqual(
      ['a', 'a', 'b'].map((key) => snapshot.memo(key, next, () => 8)),
      [1, 1, 2],
    );
    assert.equal(
      snapshotOf(trees).memo('a', next, () => 8),
      3,
    );
  });

  it('of a table is kept until that table changes, whatever else does', () => {
    const trees = emptyTrees(counters);
    const next = numbers();
    assert.equal(snapshotOf(trees).memoWhile(counters, 'a', next), 1);
    assert.equal(snapshotOf(trees, emptyTrees(organizations)).memoWhile(counters, 'a', next), 1);
    assert.equal(snapshotOf(trees).memoWhile(counters, 'b', next), 2);
    assert.equal(snapshotOf(trees).memoWhile(organizations, 'a', next), 3);
    assert.equal(snapshotOf(cloneTrees(trees)).memoWhile(counters, 'a', next), 4);
  });
});
