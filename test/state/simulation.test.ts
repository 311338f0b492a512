/**
 * Runs a few seeds of the simulated cluster. `simulation.long.ts` runs many; add a seed that fails there to this file.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { simulateFaults, simulateRestore } from '../support/state/simulated-runs.ts';

const SEEDS = Array.from({ length: 12 }, (_, i) => i + 1);

describe('simulated cluster', { timeout: 120_000 }, () => {
  // Verifies [STATE-9].
  for (const seed of SEEDS)
    it(`stays linearizable under faults, seed ${seed} [STATE-3]`, async () => void (await simulateFaults(seed)));

  for (const seed of SEEDS.slice(0, 4))
    it(`continues in a new epoch when its store went back, seed ${seed} [STATE-8] [STATE-16]`, async () =>
      void (await simulateRestore(seed)));

  it('repeats a run for the same seed, and differs for another seed', async () => {
    const first = await simulateFaults(100);
    assert.deepEqual(await simulateFaults(100), first);
    assert.notDeepEqual(await simulateFaults(101), first);
  });
});
