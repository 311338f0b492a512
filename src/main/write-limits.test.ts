import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Registry } from 'prom-client';
import type { State } from '../state/state.ts';
import { addCrowdedHolders, rowQuotas } from './write-limits.ts';

const limits = { rowsPerOrganization: 500, rowsPerUser: 600, rowsPerPartition: 900, writeRate: 'off' } as const;

test('organizations and users get at most half of the rows that fit, and partitions nine tenths [SRV-112]', () => {
  const maxima = (rowsMax: number, rowBytesMax: number) =>
    rowQuotas(limits, rowsMax, rowBytesMax).map((quota) => [quota.kind, quota.rowsMax, quota.setting]);
  assert.deepEqual(maxima(2_000, 2_000 * 2_048), [
    ['organization', 500, 'limits.rows-per-organization'],
    ['user', 600, 'limits.rows-per-user'],
    ['partition', 900, 'limits.rows-per-partition'],
  ]);
  for (const [rows, bytes] of [
    [800, Number.POSITIVE_INFINITY],
    [2_000, 800 * 2_048],
  ] as const) {
    assert.deepEqual(maxima(rows, bytes), [
      ['organization', 400, 'its share of the row limit (limits.rows-per-organization)'],
      ['user', 400, 'its share of the row limit (limits.rows-per-user)'],
      ['partition', 720, 'its share of the row limit (limits.rows-per-partition)'],
    ]);
  }
});

test('accord_quota_rows lists the holders near their quota by name [SRV-113]', async () => {
  const registry = new Registry();
  const shares: number[] = [];
  const admission: Pick<State['admission'], 'crowdedHolders'> = {
    crowdedHolders(share) {
      shares.push(share);
      return [{ kind: 'organization', name: 'acme', rows: 450 }];
    },
  };
  addCrowdedHolders(registry, admission);
  assert.match(await registry.metrics(), /^accord_quota_rows\{quota="organization",name="acme"\} 450$/m);
  assert.deepEqual(shares, [0.8]);
});
