import assert from 'node:assert/strict';
import { test } from 'node:test';
import { overallStatus } from './overall-status.ts';

const cases: readonly (readonly [statuses: string, expected: string])[] = [
  ['', 'passing'],
  ['passing', 'passing'],
  ['passing,passing', 'passing'],
  ['passing,warning', 'warning'],
  ['warning,critical,passing', 'critical'],
  ['critical,warning', 'critical'],
  ['critical,maintenance,warning', 'maintenance'],
];
for (const [statuses, expected] of cases) {
  test(`returns ${expected} for ${statuses || 'no checks'} [SVC-36]`, () => {
    const checks = statuses.split(',').filter(Boolean);
    assert.equal(overallStatus(checks.map((status, i) => ({ id: `c${i}`, status }))), expected);
  });
}

for (const id of ['_node_maintenance', '_service_maintenance:web']) {
  test(`returns maintenance for the check ${id} whatever its status [SVC-36]`, () => {
    assert.equal(
      overallStatus([
        { id: 'c', status: 'critical' },
        { id, status: 'critical' },
      ]),
      'maintenance',
    );
  });
}
