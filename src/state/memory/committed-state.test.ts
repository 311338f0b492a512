import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { counters, organizations, testSchema } from '../../../test/support/state/tables.ts';
import { systemClock } from '../clock/clock.ts';
import { ChangeFeed } from '../watch/change-feed.ts';
import { ChangeNotifier } from '../watch/change-notifier.ts';
import { CommittedState } from './committed-state.ts';
import type { Snapshot } from './snapshot.ts';

describe('values derived from the committed state', () => {
  const createCommittedState = (): CommittedState =>
    new CommittedState({
      schema: testSchema,
      clock: systemClock,
      notifier: new ChangeNotifier(),
      feed: new ChangeFeed(),
      onChange: () => undefined,
    });

  const setUp = () => {
    const committed = createCommittedState();
    let calls = 0;
    const next = (): number => ++calls;
    const noBytes = (): number => 0;
    return {
      committed,
      commitCounter(): void {
        const index = committed.snapshot.index + 1;
        const value = JSON.stringify([1, index, index, { id: 'a', value: index, partition: 'default' }]);
        committed.apply([{ table: 'counters', key: 'a', value }], index);
      },
      ofSnapshot: (snapshot: Snapshot): number => snapshot.memoize('key', next, noBytes),
      ofCounters: (snapshot: Snapshot): number => snapshot.memoizeWhileUnchanged(counters, 'key', next, noBytes),
      ofOrganizations: (snapshot: Snapshot): number =>
        snapshot.memoizeWhileUnchanged(organizations, 'key', next, noBytes),
    };
  };

  it('drops at a commit the values of the previous snapshot and of the changed tables [STATE-62]', () => {
    const { committed, commitCounter, ofSnapshot, ofCounters, ofOrganizations } = setUp();
    const before = committed.snapshot;
    assert.deepEqual([ofSnapshot(before), ofCounters(before), ofOrganizations(before)], [1, 2, 3]);
    assert.deepEqual([ofSnapshot(before), ofCounters(before), ofOrganizations(before)], [1, 2, 3]);
    commitCounter();
    const after = committed.snapshot;
    assert.deepEqual([ofSnapshot(after), ofCounters(after), ofOrganizations(after)], [4, 5, 3]);
    assert.deepEqual([ofSnapshot(before), ofCounters(before), ofOrganizations(before)], [6, 7, 3]);
    commitCounter();
    assert.deepEqual([ofSnapshot(before), ofCounters(before), ofOrganizations(before)], [8, 9, 3]);
  });

  it('drops all values at a load [STATE-62]', () => {
    const { committed, ofSnapshot, ofCounters, ofOrganizations } = setUp();
    const before = committed.snapshot;
    assert.deepEqual([ofSnapshot(before), ofCounters(before), ofOrganizations(before)], [1, 2, 3]);
    const { tables, rowCounts } = createCommittedState().snapshot;
    committed.load({ cluster: 'c', epoch: 1, index: 7, tables, rowCounts, orphanedKeys: new Map() });
    assert.deepEqual([ofSnapshot(before), ofCounters(before), ofOrganizations(before)], [4, 5, 6]);
  });
});
