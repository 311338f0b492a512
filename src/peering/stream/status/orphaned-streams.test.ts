import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFakeClock } from '../../../../test/support/fake-clock.ts';
import { openState } from '../../../../test/support/state/state.ts';
import { sqliteStore } from '../../../../test/support/state/store.ts';
import { partitions } from '../../../credentials/partition.ts';
import { defineSchema } from '../../../state/table.ts';
import { newPeering, type Peering, peerings, streamOpened } from '../../record/record.ts';
import { resetOrphanedPeerings } from './orphaned-streams.ts';
import type { Holder } from './stream-record.ts';

/** Returns an ACTIVE record whose stream is held by `holder`. Its ID is its name. */
function activeAt(name: string, holder: Holder): Peering {
  const row = streamOpened(newPeering({ id: name, name, partition: 'default', role: 'accepting', meta: {} }), holder);
  assert.ok(row);
  return row;
}

describe('resetOrphanedPeerings', () => {
  it('resets peerings of an earlier incarnation and of a dead server, and no others [PEER-80]', async () => {
    await using store = await sqliteStore();
    const clock = createFakeClock();
    await using state = await openState(store.engine(), {
      schema: defineSchema([partitions, peerings]),
      node: 'a',
      clock,
    });
    const [self] = state.liveNodes;
    assert.ok(self);
    await state.write((tx) => {
      tx.put(peerings, activeAt('mine', { node: 'a', incarnation: self.incarnation }));
      tx.put(peerings, activeAt('before', { node: 'a', incarnation: 'of-before' }));
      tx.put(peerings, activeAt('elsewhere', { node: 'b', incarnation: 'dead' }));
    });
    await resetOrphanedPeerings(state, new AbortController().signal);
    const shown = state.snapshot.all(peerings).map(({ row }) => [row.name, row.state, row.failing?.reason]);
    assert.deepEqual(shown, [
      ['before', 'INITIAL', 'the server "a", which held the stream, is gone'],
      ['elsewhere', 'INITIAL', 'the server "b", which held the stream, is gone'],
      ['mine', 'ACTIVE', undefined],
    ]);
  });
});
