import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { sharedApi } from '../../test/support/process/api.ts';
import { type RecordedLookups, recordLookups } from '../../test/support/state/recorded-lookups.ts';
import { type Company, makeCompany, putTeam } from '../../test/support/team-access/organizations.ts';
import { documentOf, type ResourceObject, request, resource } from '../../test/support/team-access/team-access.ts';
import { until } from '../../test/support/until.ts';
import { users } from '../credentials/user.ts';
import { runAtOnce } from '../state/clock/slices.ts';
import { roleWithTeams } from './authorization/caller.ts';
import { listMemberships } from './organization-memberships/list-memberships.ts';
import { organizations } from './tables/organization.ts';
import { memberships } from './tables/organization-membership.ts';

describe('lists', () => {
  const api = sharedApi();
  let company: Company;
  let lookUps: RecordedLookups;
  const list = async (path: string, token = company.tokens.owner) =>
    documentOf<ResourceObject[]>(await request(api(), token, 'GET', `/organizations/acme/${path}`));
  const send = async (method: string, path: string, body?: unknown) => {
    const answer = await request(api(), company.tokens.owner, method, path, { body });
    assert.ok(answer.status < 300, answer.text);
    return answer;
  };
  const invite = (email: string) =>
    send('POST', '/organizations/acme/organization-memberships', resource('organization-memberships', { email }));
  const counts = async () => {
    const { meta } = await list('organization-memberships?page[size]=1');
    return (meta as unknown as Record<'status-counts', Readonly<Record<string, number>>>)['status-counts'];
  };

  before(async () => {
    company = await makeCompany(api().state, 'acme');
    lookUps = recordLookups(api().state);
    await list('teams');
    await api().usesWritten();
  });

  for (const [what, path, table] of [
    ['teams', 'teams?page[size]=1', 'teams'],
    ['members', 'organization-memberships?page[size]=1', 'organization-memberships'],
  ] as const) {
    test(`of ${what} read the whole table once while it is unchanged`, async () => {
      const listed = () => lookUps.all().filter((one) => one === `list ${table}`).length;
      await api().state.write((tx) => putTeam(tx, company.id, `beside ${table}`, 'organization'));
      await invite(`${what}@example.org`);
      lookUps.clear();
      await list(path);
      assert.equal(listed(), 1);
      for (let number = 1; number < 4; number++) await list(`${path}&page[number]=${number}`);
      assert.equal(listed(), 1);
    });
  }

  test('of teams contain created and changed teams, and no deleted ones', async () => {
    const names = async (token?: string | null) =>
      (await list('teams?page[size]=100', token)).data.map(({ attributes }) => attributes['name']);
    const earlier = await names();
    const { data } = documentOf(await send('POST', '/organizations/acme/teams', resource('teams', { name: 'z-new' })));
    assert.deepEqual(await names(), [...earlier, 'z-new']);
    await send('PATCH', `/teams/${data.id}`, resource('teams', { name: 'a-new' }));
    assert.deepEqual(await names(), [...earlier, 'a-new']);
    const member = company.tokens['in-secret-team'];
    assert.deepEqual(
      await names(member),
      earlier.filter((name) => !['owners', 'hidden'].includes(String(name))),
    );
    await send('PATCH', `/teams/${data.id}`, resource('teams', { visibility: 'organization' }));
    assert.equal((await names(member)).at(-1), 'a-new');
    await send('DELETE', `/teams/${data.id}`);
    assert.deepEqual(await names(), earlier);
  });

  test('of teams are separate for each organization', async () => {
    const other = await makeCompany(api().state, 'other');
    await api().state.write((tx) => putTeam(tx, other.id, 'theirs', 'organization'));
    const answer = await request(api(), other.tokens.owner, 'GET', '/organizations/other/teams?page[size]=100');
    assert.ok(documentOf<ResourceObject[]>(answer).data.some(({ attributes }) => attributes['name'] === 'theirs'));
    const { data } = await list('teams?page[size]=100');
    assert.ok(!data.some(({ attributes }) => attributes['name'] === 'theirs'));
  });

  test('of members contain and count new members, and no deleted ones', async () => {
    const { total = 0, invited = 0, active = 0 } = await counts();
    const { id } = documentOf(await invite('late@example.org')).data;
    assert.deepEqual(await counts(), { total: total + 1, matching: total + 1, active, invited: invited + 1 });
    const { data } = await list('organization-memberships?page[size]=100');
    assert.equal(data.at(-1)?.id, id);
    await send('DELETE', `/organization-memberships/${id}`);
    assert.deepEqual(await counts(), { total, matching: total, active, invited });
  });

  test('of members omit deleted users, and count users who become active', async () => {
    const body = resource('users', { username: 'new', email: 'new@example.org' });
    const made = documentOf(await request(api(), api().adminToken, 'POST', '/admin/users', { body })).data;
    await invite('new@example.org');
    const { total = 0, invited = 0, active = 0 } = await counts();
    await request(api(), String(made.attributes['token']), 'GET', '/account/details');
    await until('the user is active', async () => (await counts())['active'] === active + 1);
    assert.equal((await counts())['invited'], invited - 1);
    await request(api(), api().adminToken, 'DELETE', `/admin/users/${made.id}`);
    assert.equal((await counts())['total'], total - 1);
    await until('the rows of the user are deleted', () => !api().state.snapshot.mayHaveOrphans);
    assert.equal((await counts())['total'], total - 1);
  });

  test('of members omit a user from the commit that deletes the user', async () => {
    const { state } = api();
    const { data } = documentOf(await invite('gone@example.org'));
    const { total = 0 } = await counts();
    const userId = state.snapshot.get(memberships, data.id)?.row.userId ?? assert.fail('the membership is missing');
    const organization =
      state.snapshot.get(organizations, company.id)?.row ?? assert.fail('the organization is missing');
    await state.write((tx) => tx.delete(users, userId));
    const { snapshot } = state;
    assert.ok(snapshot.mayHaveOrphans, 'the membership is still in the table');
    assert.equal(
      runAtOnce(listMemberships(snapshot, roleWithTeams(organization, []), new Map())).counts.total,
      total - 1,
    );
  });
});
