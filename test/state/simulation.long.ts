/** Many seeds of the simulated cluster. `SEED` names the first, to look for others than last time. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type SimulatedRun, simulateFaults, simulateRestore } from '../support/state/simulated-runs.ts';

const FIRST_SEED = Number(process.env['SEED'] ?? '1000');
const SEEDS = 1_000;
/** More failures than that say nothing new. */
const FAILURES_MAX = 10;

async function runSeeds(simulate: (seed: number) => Promise<SimulatedRun>): Promise<string> {
  const failures: string[] = [];
  let operations = 0;
  let simulatedMs = 0;
  for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS && failures.length < FAILURES_MAX; seed++) {
    try {
      const run = await simulate(seed);
      operations += run.history.length;
      simulatedMs += run.simulatedMs;
    } catch (error) {
      failures.push(`seed ${seed}: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  assert.deepEqual(failures, []);
  return `${SEEDS} seeds from ${FIRST_SEED}: ${operations} operations in ${Math.round(simulatedMs / 60_000)} simulated minutes`;
}

describe('simulated cluster, many seeds', () => {
  it('holds what it promises under faults', async (t) => t.diagnostic(await runSeeds(simulateFaults)));
  it('goes on when its store went back', async (t) => t.diagnostic(await runSeeds(simulateRestore)));
});
