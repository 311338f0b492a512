import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createRandom } from '../test/support/random.ts';
import { FAULT_NAMES, FAULTS, type FaultKind, LONG_CUT_S, type PlannedFault, planFaults } from './faults.ts';
import { ACTIVE_MS, CHECK_INTERVAL_MS, SETTLED_MS } from './limits.ts';

const planned = (seed: number, count: number): PlannedFault[] => [
  ...planFaults(FAULT_NAMES, createRandom(seed)).take(count),
];

describe('planFaults', () => {
  test('gives the same plan for the same seed, and another plan for another seed', () => {
    assert.deepEqual(planned(1, 50), planned(1, 50));
    assert.notDeepEqual(planned(1, 50), planned(2, 50));
  });

  test('has every fault once in each round', () => {
    const count = FAULT_NAMES.length;
    const plan = planned(3, 3 * count).map(({ fault }) => fault);
    for (const round of [0, 1, 2]) {
      assert.deepEqual(plan.slice(round * count, (round + 1) * count).sort(), FAULT_NAMES.toSorted());
    }
  });

  test('picks targets and durations that the fault allows', () => {
    for (const { fault, target, durationMs } of planned(4, 200)) {
      const { targets, durationS } = FAULTS[fault];
      assert.equal(target === undefined, targets.length === 0);
      assert.ok(target === undefined || (targets as readonly string[]).includes(target));
      const { cutsPeerings }: FaultKind = FAULTS[fault];
      const [min, max] = cutsPeerings && durationMs > durationS[1] * 1_000 ? LONG_CUT_S : durationS;
      assert.ok(durationMs >= min * 1_000 && durationMs <= max * 1_000);
    }
  });

  test('has one cut and one pause in each round that outlast the limits of the checks', () => {
    const plan = planned(5, 10 * FAULT_NAMES.length);
    for (let round = 0; round < 10; round += 1) {
      const faults = plan.slice(round * FAULT_NAMES.length, (round + 1) * FAULT_NAMES.length);
      const isLongCut = ({ durationMs }: PlannedFault): boolean =>
        durationMs > ACTIVE_MS + 2 * CHECK_INTERVAL_MS && durationMs > 20_000;
      assert.equal(faults.filter(isLongCut).length, 1);
      assert.equal(faults.filter(({ pauseMs }) => pauseMs > SETTLED_MS + 2 * CHECK_INTERVAL_MS).length, 1);
    }
  });
});
