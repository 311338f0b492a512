/** Runs many seeds of the simulated cluster. The environment variable `SEED` sets the first one. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type SimulatedRun, simulateFaults, simulateRestore } from '../support/state/simulated-runs.ts';

const FIRST_SEED = Number(process.env['SEED'] ?? '1000');
const SEEDS = 1_000;
/** Failures after which the run stops. */
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
  it('stays linearizable under faults', async (t) => t.diagnostic(await runSeeds(simulateFaults)));
  it('continues in a new epoch when its store went back', async (t) => t.diagnostic(await runSeeds(simulateRestore)));
});
