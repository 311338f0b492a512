import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sharedApi } from '../../../test/support/process/api.ts';
import { addToTeam, join, makeTeam, makeUser } from '../../../test/support/team-access/organization-fixture.ts';
import {
  documentOf,
  errorsOf,
  makeOrganization,
  type ResourceObject,
  request,
  resource,
} from '../../../test/support/team-access/team-access.ts';

const idOf = (relationship: { readonly data: unknown } | undefined): string =>
  (relationship?.data as { readonly id: string } | undefined)?.id ?? '';

describe('checkOwnerRemains', () => {
  const api = sharedApi();
  const ownersOf = async (token: string, organization: string): Promise<string> => {
    const path = `/organizations/${organization}/teams?q=owners`;
    return documentOf<ResourceObject[]>(await request(api(), token, 'GET', path)).data[0]?.id ?? '';
  };
  const membershipOf = async (token: string, organization: string, q: string): Promise<string> => {
    const path = `/organizations/${organization}/organization-memberships?q=${q}`;
    return documentOf<ResourceObject[]>(await request(api(), token, 'GET', path)).data[0]?.id ?? '';
  };
  const invite = (token: string, organization: string, email: string, team: string) => {
    const teams = { teams: { data: [{ type: 'teams', id: team }] } };
    const body = resource('organization-memberships', { email }, teams);
    return request(api(), token, 'POST', `/organizations/${organization}/organization-memberships`, { body });
  };

  test('does not count invited users without a claimed account', async () => {
    const { token } = await makeUser(api(), 'real');
    await makeOrganization(api(), token, 'haunted');
    const owners = await ownersOf(token, 'haunted');
    const ghost = documentOf(await invite(token, 'haunted', 'ghost@example.org', owners)).data;
    const own = await membershipOf(token, 'haunted', 'real');
    const members = (method: string, ...usernames: string[]) =>
      request(api(), token, method, `/teams/${owners}/relationships/users`, {
        body: { data: usernames.map((id) => ({ type: 'users', id })) },
      });
    for (const answer of [
      await request(api(), token, 'DELETE', `/organization-memberships/${own}`),
      await members('DELETE', 'real'),
      await members('DELETE', 'ghost', 'real'),
    ]) {
      assert.equal(answer.status, 403);
      assert.match(
        String(errorsOf(answer)[0]?.['detail']),
        /^the last owner of the organization 'haunted' cannot be removed: /,
      );
    }
    assert.equal((await members('DELETE', 'ghost')).status, 204);
    assert.equal((await members('POST', 'ghost')).status, 204);
    const claim = { body: resource('users', { username: 'came', email: 'ghost@example.org' }) };
    const came = documentOf(await request(api(), api().adminToken, 'POST', '/admin/users', claim)).data;
    assert.equal(came.id, idOf(ghost.relationships['user']));
    assert.equal((await request(api(), token, 'DELETE', `/organization-memberships/${own}`)).status, 204);
  });

  test('finds a claimed owner after more than one page of unclaimed owners', async () => {
    const { token } = await makeUser(api(), 'early');
    await makeOrganization(api(), token, 'many');
    const owners = await ownersOf(token, 'many');
    for (let i = 0; i < 20; i++) await invite(token, 'many', `g-${i}@example.org`, owners);
    const own = await membershipOf(token, 'many', 'early');
    const leave = () => request(api(), token, 'DELETE', `/organization-memberships/${own}`);
    assert.equal((await leave()).status, 403);
    await makeUser(api(), 'late');
    await join(api(), token, 'many', 'late');
    await addToTeam(api(), token, owners, 'late');
    assert.equal((await leave()).status, 204);
  });

  test('reserves the name of the owners team, even after a rename [AUTHZ-52]', async () => {
    const { token } = await makeUser(api(), 'namer');
    await makeOrganization(api(), token, 'named');
    const owners = await ownersOf(token, 'named');
    const rename = (team: string, name: string) =>
      request(api(), token, 'PATCH', `/teams/${team}`, { body: resource('teams', { name }) });
    assert.equal((await rename(owners, 'leads')).status, 200);
    const other = await makeTeam(api(), token, 'named', { name: 'other' });
    const body = resource('teams', { name: 'Owners' });
    for (const answer of [
      await request(api(), token, 'POST', '/organizations/named/teams', { body }),
      await rename(other.id, 'OWNERS'),
    ]) {
      const detail = "Name 'owners' is reserved for the team that owns the organization";
      assert.deepEqual([answer.status, errorsOf(answer)[0]?.['detail']], [422, detail]);
    }
    assert.equal((await rename(owners, 'owners')).status, 200);
  });
});
