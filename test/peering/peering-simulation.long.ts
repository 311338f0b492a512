/** Many seeds of two simulated clusters. `SEED` names the first, to look for others than last time; `SEEDS` how many. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { simulatePeering } from '../support/peering/peering-simulation.ts';

const FIRST_SEED = Number(process.env['SEED'] ?? '1000');
const SEEDS = Number(process.env['SEEDS'] ?? '2000');
/** More failures than that say nothing new. */
const FAILURES_MAX = 10;

describe('simulated peerings, many seeds', () => {
  it('hold what they promise under faults', async (t) => {
    const failures: string[] = [];
    let events = 0;
    let simulatedMs = 0;
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS && failures.length < FAILURES_MAX; seed++) {
      try {
        const run = await simulatePeering(seed);
        events += run.story.length;
        simulatedMs += run.simulatedMs;
      } catch (error) {
        failures.push(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`);
      }
    }
    assert.deepEqual(failures, []);
    const minutes = Math.round(simulatedMs / 60_000);
    t.diagnostic(`${SEEDS} seeds from ${FIRST_SEED}: ${events} operations and faults in ${minutes} simulated minutes`);
  });
});
