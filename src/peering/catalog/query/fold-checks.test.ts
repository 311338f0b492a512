import assert from 'node:assert/strict';
import { test } from 'node:test';
import { foldChecks } from './fold-checks.ts';

const cases: readonly (readonly [statuses: string, folded: string])[] = [
  ['', 'passing'],
  ['passing', 'passing'],
  ['passing,passing', 'passing'],
  ['passing,warning', 'warning'],
  ['warning,critical,passing', 'critical'],
  ['critical,warning', 'critical'],
  ['critical,maintenance,warning', 'maintenance'],
];
for (const [statuses, folded] of cases) {
  test(`${statuses || 'no checks'} fold to ${folded}`, () => {
    const checks = statuses.split(',').filter(Boolean);
    assert.equal(foldChecks(checks.map((status, i) => ({ id: `c${i}`, status }))), folded);
  });
}

for (const id of ['_node_maintenance', '_service_maintenance:web']) {
  test(`the check ${id} means maintenance, whatever its status`, () => {
    assert.equal(
      foldChecks([
        { id: 'c', status: 'critical' },
        { id, status: 'critical' },
      ]),
      'maintenance',
    );
  });
}
