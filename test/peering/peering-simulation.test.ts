/** Runs the peering simulation with a few seeds. When a seed fails in `peering-simulation.long.ts`, add it to SEEDS. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { simulatePeering } from '../support/peering/simulation/simulate-peering.ts';

const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8];

describe('simulatePeering', { timeout: 240_000 }, () => {
  for (const seed of SEEDS)
    it(`keeps the invariants under faults with seed ${seed}`, async () => void (await simulatePeering(seed)));

  it('keeps the invariants under faults with a random seed', async (t) => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    t.diagnostic(`seed ${seed}`);
    await simulatePeering(seed).catch((cause: unknown) => {
      throw new Error(`seed ${seed}`, { cause });
    });
  });

  it('repeats a run for the same seed, and differs for another seed', async () => {
    const first = await simulatePeering(7);
    assert.deepEqual(await simulatePeering(7), first);
    assert.notDeepEqual(await simulatePeering(8), first);
  });
});
