import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sharedApi } from '../../../test/support/process/api.ts';
import { makeUser } from '../../../test/support/team-access/organization-fixture.ts';
import { makeOrganization } from '../../../test/support/team-access/team-access.ts';
import { organizations } from '../tables/organization.ts';
import { createOrganizationQuota } from './organization-quota.ts';

const api = sharedApi();

test('counts refusals once a write, whoever retries it, for accord_budget_refused_total [SRV-110]', async () => {
  const { id, token } = await makeUser(api(), 'creator');
  await makeOrganization(api(), token, 'acme');
  const quota = createOrganizationQuota(1);
  const check = () => api().state.write((tx) => quota.check(tx, id));
  await assert.rejects(check());
  await assert.rejects(check());
  assert.deepEqual([quota.name, [...quota.refused]], ['organizations', [['user', 2]]]);
  assert.deepEqual(quota.measure(), [{ bound: 'user', max: 1 }]);
  const own = api().state.snapshot.find(organizations, 'name', 'acme')?.row;
  await api().state.write((tx) => own && tx.delete(organizations, own.id));
  await check();
  assert.equal(quota.refused.get('user'), 2);
});
