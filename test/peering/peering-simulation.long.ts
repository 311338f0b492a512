/** Many seeds of the peering simulation. Set `SEED` to the first seed and `SEEDS` to their number. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { simulatePeering } from '../support/peering/simulation/simulate-peering.ts';

const FIRST_SEED = Number(process.env['SEED'] ?? '1000');
const SEEDS = Number(process.env['SEEDS'] ?? '2000');
/** The test stops after this number of failures. */
const FAILURES_MAX = 10;

describe('simulatePeering', () => {
  it('keeps the invariants under faults with many seeds', async (t) => {
    const failures: string[] = [];
    let events = 0;
    let simulatedMs = 0;
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS && failures.length < FAILURES_MAX; seed++) {
      try {
        const run = await simulatePeering(seed);
        events += run.events.length;
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
