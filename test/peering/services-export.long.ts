/** Many services, resynchronised while they change. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { runResyncStorm } from '../support/peering/resync-storm.ts';

it('5,000 services, 100 changes a second, and a link that breaks five times', { timeout: 1_800_000 }, async () => {
  const {
    lost: emptied,
    differing,
    changes,
  } = await runResyncStorm({ services: 5_000, changesPerSecond: 100, outages: 5 });
  assert.deepEqual([emptied, differing], [[], []]);
  assert.ok(changes > 1_000);
});
