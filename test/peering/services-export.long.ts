/** Resynchronization of many services that change. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { runResyncStorm } from '../support/peering/resync-storm.ts';

it('resynchronizes 5,000 services with 100 changes per second over five outages', { timeout: 1_800_000 }, async () => {
  const {
    lost: emptied,
    differing,
    changes,
  } = await runResyncStorm({ services: 5_000, changesPerSecond: 100, outages: 5 });
  assert.deepEqual([emptied, differing], [[], []]);
  assert.ok(changes > 1_000);
});
