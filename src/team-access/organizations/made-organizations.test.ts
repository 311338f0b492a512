/** How many organizations there can be of one maker. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { sharedApi } from '../../../test/support/process/api.ts';
import { faults, makeOrganization, request, resource } from '../../../test/support/team-access/team-access.ts';
import { makeUser } from '../../../test/support/team-access/team-access-world.ts';
import { users } from '../../credentials/user.ts';
import { ORGANIZATIONS_MADE_MAX } from '../limits.ts';
import { organizations } from '../tables/organization.ts';
import { membershipPair, memberships } from '../tables/organization-membership.ts';

describe('who has made as many organizations as one user may', () => {
  const api = sharedApi();
  let maker = { id: '', token: '' };
  let guest = { id: '', token: '' };
  const make = (token: string, name: string) =>
    request(api(), token, 'POST', '/organizations', {
      body: resource('organizations', { name, email: 'o@example.org' }),
    });
  const isRefused = async () => {
    const answer = await make(maker.token, 'one-more');
    assert.equal(answer.status, 422);
    assert.match(String(faults(answer)[0]?.['detail']), /^you have made 100 of the organizations that are there/);
  };
  const isMade = async (token: string, name: string) => assert.equal((await make(token, name)).status, 201);

  before(async () => {
    maker = await makeUser(api(), 'maker');
    guest = await makeUser(api(), 'guest');
    for (let i = 0; i < ORGANIZATIONS_MADE_MAX; i++) await makeOrganization(api(), maker.token, `o-${i}`);
    for (const { row } of api().state.snapshot.list(organizations, 'maker', maker.id)) {
      const owners = { teams: { data: [{ type: 'teams', id: row.ownersTeamId }] } };
      const body = resource('organization-memberships', { email: 'guest@example.org' }, owners);
      const path = `/organizations/${row.name}/organization-memberships`;
      assert.equal((await request(api(), maker.token, 'POST', path, { body })).status, 201);
    }
  });

  test('makes no more; who was only made an owner of them does', async () => {
    await isRefused();
    await isMade(guest.token, 'of-the-guest');
  });

  test('makes no more for having left one to others, but when that is deleted', async () => {
    const organizationId = api().state.snapshot.find(organizations, 'name', 'o-0')?.row.id ?? '';
    const own = api().state.snapshot.find(memberships, 'pair', membershipPair(organizationId, maker.id))?.row.id;
    const left = await request(api(), maker.token, 'DELETE', `/organization-memberships/${own}`);
    assert.equal(left.status, 204);
    await isRefused();
    assert.equal((await request(api(), guest.token, 'DELETE', '/organizations/o-0')).status, 204);
    await isMade(maker.token, 'instead');
    await isRefused();
  });

  test('still counts for one that has been changed, and not for one that names no maker', async () => {
    const body = resource('organizations', { name: 'renamed' });
    assert.equal((await request(api(), maker.token, 'PATCH', '/organizations/o-1', { body })).status, 200);
    await isRefused();
    await api().state.write((tx) => {
      const row = tx.find(organizations, 'name', 'o-2')?.row;
      assert.ok(row !== undefined);
      const { makerId, ...older } = row;
      assert.equal(makerId, maker.id);
      tx.put(organizations, older);
    });
    await isMade(maker.token, 'in-its-place');
    await isRefused();
  });

  test('makes more as a site administrator', async () => {
    await api().state.write((tx) => {
      const user = tx.get(users, maker.id)?.row;
      assert.ok(user !== undefined);
      tx.put(users, { ...user, siteAdmin: true });
    });
    await isMade(maker.token, 'of-an-administrator');
  });
});
