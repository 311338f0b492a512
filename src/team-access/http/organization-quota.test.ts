/** The limit on organizations that one user creates [AUTHZ-54]. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { sharedApi, startApi } from '../../../test/support/process/api.ts';
import { makeUser } from '../../../test/support/team-access/organization-fixture.ts';
import { errorsOf, makeOrganization, request, resource } from '../../../test/support/team-access/team-access.ts';
import { users } from '../../credentials/user.ts';
import { organizations } from '../tables/organization.ts';
import { membershipPair, memberships } from '../tables/organization-membership.ts';
import { createOrganizationQuota } from './organization-quota.ts';

describe('a user at the organization quota', () => {
  const api = sharedApi();
  let creator = { id: '', token: '' };
  let guest = { id: '', token: '' };
  const make = (token: string, name: string) =>
    request(api(), token, 'POST', '/organizations', {
      body: resource('organizations', { name, email: 'o@example.org' }),
    });
  const isRejected = async () => {
    const answer = await make(creator.token, 'one-more');
    assert.equal(answer.status, 422);
    assert.match(
      String(errorsOf(answer)[0]?.['detail']),
      /^you have created 100 organizations, which is limits.organizations-per-user/,
    );
  };
  const isCreated = async (token: string, name: string) => assert.equal((await make(token, name)).status, 201);

  before(async () => {
    creator = await makeUser(api(), 'creator');
    guest = await makeUser(api(), 'guest');
    for (let i = 0; i < 100; i++) await makeOrganization(api(), creator.token, `o-${i}`);
    for (const { row } of api().state.snapshot.list(organizations, 'maker', creator.id)) {
      const owners = { teams: { data: [{ type: 'teams', id: row.ownersTeamId }] } };
      const body = resource('organization-memberships', { email: 'guest@example.org' }, owners);
      const path = `/organizations/${row.name}/organization-memberships`;
      assert.equal((await request(api(), creator.token, 'POST', path, { body })).status, 201);
    }
  });

  test('cannot create another one, while a user who was only added as an owner can', async () => {
    await isRejected();
    await isCreated(guest.token, 'of-the-guest');
  });

  test('can create another one after an organization is deleted, but not after leaving one', async () => {
    const organizationId = api().state.snapshot.find(organizations, 'name', 'o-0')?.row.id ?? '';
    const own = api().state.snapshot.find(memberships, 'pair', membershipPair(organizationId, creator.id))?.row.id;
    const left = await request(api(), creator.token, 'DELETE', `/organization-memberships/${own}`);
    assert.equal(left.status, 204);
    await isRejected();
    assert.equal((await request(api(), guest.token, 'DELETE', '/organizations/o-0')).status, 204);
    await isCreated(creator.token, 'instead');
    await isRejected();
  });

  test('counts an updated organization, but not one without a creator', async () => {
    const body = resource('organizations', { name: 'renamed' });
    assert.equal((await request(api(), creator.token, 'PATCH', '/organizations/o-1', { body })).status, 200);
    await isRejected();
    await api().state.write((tx) => {
      const row = tx.find(organizations, 'name', 'o-2')?.row;
      assert.ok(row !== undefined);
      const { makerId, ...older } = row;
      assert.equal(makerId, creator.id);
      tx.put(organizations, older);
    });
    await isCreated(creator.token, 'in-its-place');
    await isRejected();
  });

  test('can create more as a site administrator', async () => {
    await api().state.write((tx) => {
      const user = tx.get(users, creator.id)?.row;
      assert.ok(user !== undefined);
      tx.put(users, { ...user, siteAdmin: true });
    });
    await isCreated(creator.token, 'of-an-administrator');
  });
});

test('counts refusals once a write, whoever retries it, for accord_budget_refused_total [SRV-110]', async () => {
  await using own = await startApi();
  const { id, token } = await makeUser(own, 'creator');
  await makeOrganization(own, token, 'acme');
  const quota = createOrganizationQuota(1);
  const check = () => own.state.write((tx) => quota.check(tx, id));
  await assert.rejects(check());
  await assert.rejects(check());
  assert.deepEqual([quota.name, [...quota.refused]], ['organizations', [['user', 2]]]);
  assert.deepEqual(quota.measure(), [{ bound: 'user', max: 1 }]);
  const made = own.state.snapshot.find(organizations, 'name', 'acme')?.row;
  await own.state.write((tx) => made && tx.delete(organizations, made.id));
  await check();
  assert.equal(quota.refused.get('user'), 2);
});
