/** Some seeds of two simulated clusters; peering-simulation.long.ts runs many. A seed that fails there belongs here. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { simulatePeering } from '../support/peering/peering-simulation.ts';

const SEEDS = [1, 2, 3, 4, 5, 6, 7, 8];

describe('simulated peerings', { timeout: 240_000 }, () => {
  for (const seed of SEEDS)
    it(`hold what they promise under faults, seed ${seed}`, async () => void (await simulatePeering(seed)));

  it('hold it for a seed that nobody has chosen, too', async (t) => {
    const seed = Math.floor(Math.random() * 2 ** 31);
    t.diagnostic(`seed ${seed}`);
    await simulatePeering(seed).catch((cause: unknown) => {
      throw new Error(`seed ${seed}`, { cause });
    });
  });

  it('do the same again for the same seed, and something else for another', async () => {
    const first = await simulatePeering(7);
    assert.deepEqual(await simulatePeering(7), first);
    assert.notDeepEqual(await simulatePeering(8), first);
  });
});
