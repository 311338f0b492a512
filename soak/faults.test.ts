import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '../test/support/random.ts';
import { FAULT_NAMES, FAULTS, type PlannedFault, planFaults } from './faults.ts';

const planned = (seed: number, count: number): PlannedFault[] => [
  ...planFaults(FAULT_NAMES, createRandom(seed)).take(count),
];

test('a seed gives the same plan again, and another seed another one', () => {
  assert.deepEqual(planned(1, 50), planned(1, 50));
  assert.notDeepEqual(planned(1, 50), planned(2, 50));
});

test('every round has every fault once', () => {
  const count = FAULT_NAMES.length;
  const plan = planned(3, 3 * count).map(({ fault }) => fault);
  for (const round of [0, 1, 2]) {
    assert.deepEqual(plan.slice(round * count, (round + 1) * count).sort(), FAULT_NAMES.toSorted());
  }
});

test('faults are done to their targets, for as long as they say', () => {
  for (const { fault, target, holdMs } of planned(4, 200)) {
    const { targets, holdS } = FAULTS[fault];
    assert.equal(target === undefined, targets.length === 0);
    assert.ok(target === undefined || (targets as readonly string[]).includes(target));
    assert.ok(holdMs >= holdS[0] * 1_000 && holdMs <= holdS[1] * 1_000);
  }
});
