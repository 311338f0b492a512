import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRandom } from '../test/support/random.ts';
import { FAULT_NAMES, FAULTS, type FaultKind, LONG_CUT_S, type PlannedFault, planFaults } from './faults.ts';
import { ACTIVE_MS, LOOK_MS, SETTLED_MS } from './limits.ts';

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
    const { cutsPeerings }: FaultKind = FAULTS[fault];
    const [least, most] = cutsPeerings && holdMs > holdS[1] * 1_000 ? LONG_CUT_S : holdS;
    assert.ok(holdMs >= least * 1_000 && holdMs <= most * 1_000);
  }
});

test('every round has a cut and a calm that are long enough for what is forbidden by then to be looked for', () => {
  const plan = planned(5, 10 * FAULT_NAMES.length);
  for (let round = 0; round < 10; round += 1) {
    const faults = plan.slice(round * FAULT_NAMES.length, (round + 1) * FAULT_NAMES.length);
    assert.equal(faults.filter(({ holdMs }) => holdMs > ACTIVE_MS + 2 * LOOK_MS && holdMs > 20_000).length, 1);
    assert.equal(faults.filter(({ pauseMs }) => pauseMs > SETTLED_MS + 2 * LOOK_MS).length, 1);
  }
});
