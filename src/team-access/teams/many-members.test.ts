/** Lists of teams and members with very many related resources. */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { sharedApi, startApi } from '../../../test/support/process/api.ts';
import { recordLookups } from '../../../test/support/state/recorded-lookups.ts';
import {
  documentOf,
  makeOrganization,
  type ResourceObject,
  request,
} from '../../../test/support/team-access/team-access.ts';
import { newId } from '../../credentials/ids-and-secrets.ts';
import { users } from '../../credentials/user.ts';
import { INCLUDED_MAX } from '../limits.ts';
import { normalizeName, organizations } from '../tables/organization.ts';
import { memberships } from '../tables/organization-membership.ts';
import { teamMembers, teams } from '../tables/team.ts';

const TEAMS = 99;
const MEMBERS = 102;
const MEMBERSHIPS = '/organizations/acme/organization-memberships';

describe('an organization where every member is in every team', () => {
  const api = sharedApi();
  const get = async <Data = ResourceObject>(path: string) =>
    documentOf<Data>(await request(api(), api().adminToken, 'GET', path));
  before(async () => {
    await makeOrganization(api(), api().adminToken, 'acme');
    await api().state.write((tx) => {
      const organizationId = tx.find(organizations, 'name', normalizeName('acme'))?.row.id ?? '';
      const [owners] = tx.list(teams, 'organization', organizationId);
      assert.ok(owners !== undefined);
      const createTime = new Date(tx.now).toISOString();
      const all = Array.from({ length: TEAMS }, (_, place) => ({
        ...owners.row,
        id: newId('team'),
        name: `team-${place}`,
        place,
      }));
      for (const team of all) tx.put(teams, team);
      for (let place = 0; place < MEMBERS; place++) {
        const [userId, membershipId] = [newId('user'), newId('ou')];
        const username = `user-${place}`;
        tx.put(users, { id: userId, username, email: `${username}@example.org`, siteAdmin: false, createTime });
        tx.put(memberships, { id: membershipId, organizationId, userId, createTime, place });
        for (const { id: teamId } of all) tx.put(teamMembers, { teamId, userId, membershipId });
      }
    });
  });

  test('returns a page of teams with linkage up to the limit and counts beyond it [DOC-33] [DOC-46]', async () => {
    const { data } = await get<ResourceObject[]>('/organizations/acme/teams?page[size]=100');
    assert.equal(data.length, TEAMS + 1);
    const named = data.flatMap(({ relationships }) => [
      relationships['users']?.data,
      relationships['organization-memberships']?.data,
    ]);
    const linkage = named.reduce<number>((sum, list) => sum + (Array.isArray(list) ? list.length : 0), 0);
    assert.ok(linkage > 19_000 && linkage <= 20_000, String(linkage));
    const last = data.at(-1);
    assert.deepEqual(
      [last?.attributes['users-count'], last?.relationships['users']],
      [MEMBERS, { meta: { count: MEMBERS } }],
    );
    const alone = (await get(`/teams/${last?.id}`)).data.relationships['users']?.data;
    assert.equal(Array.isArray(alone) && alone.length, MEMBERS);
  });

  test('returns a page of members that includes each team once, with one lookup of its members [DOC-29]', async () => {
    const lookUps = recordLookups(api().state);
    const { data, included } = await get<ResourceObject[]>(`${MEMBERSHIPS}?page[size]=100&include=teams,user`);
    assert.equal(data.length, 100);
    // The first member is only in `owners`.
    assert.equal(included?.filter(({ type }) => type === 'teams').length, TEAMS + 1);
    assert.equal(included?.filter(({ type }) => type === 'users').length, 100);
    const ofTeams = lookUps.all().filter((one) => one === 'list team-members').length;
    // One lookup for the caller, two for each member, and one for each team.
    assert.ok(ofTeams <= 1 + 2 * 100 + TEAMS + 1, String(ofTeams));
    const again = await get<ResourceObject[]>(
      '/organizations/acme/teams?page[size]=100&include=organization-memberships',
    );
    assert.equal(again.included?.length, MEMBERS + 1);
  });
});

test('a document about one team includes all members, and a page of two teams has a limit [DOC-32]', async () => {
  await using api = await startApi();
  await makeOrganization(api, api.adminToken, 'acme');
  const teamId = await api.state.write((tx) => {
    const organizationId = tx.find(organizations, 'name', normalizeName('acme'))?.row.id ?? '';
    const [owners] = tx.list(teams, 'organization', organizationId);
    assert.ok(owners !== undefined);
    const team = { ...owners.row, id: newId('team'), name: 'everybody', place: tx.position };
    tx.put(teams, team);
    const createTime = new Date(tx.now).toISOString();
    for (let place = 0; place <= INCLUDED_MAX; place++) {
      const [userId, membershipId] = [newId('user'), newId('ou')];
      tx.put(users, { id: userId, username: `user-${place}`, email: '', siteAdmin: false, createTime });
      tx.put(memberships, { id: membershipId, organizationId, userId, createTime, place });
      tx.put(teamMembers, { teamId: team.id, userId, membershipId });
    }
    return team.id;
  });
  const get = (path: string) => request(api, api.adminToken, 'GET', path);
  for (const path of [
    `/teams/${teamId}?include=users`,
    '/organizations/acme/teams?include=users&page[size]=1&page[number]=2',
  ]) {
    assert.equal(documentOf(await get(path)).included?.length, INCLUDED_MAX + 1, path);
  }
  assert.equal((await get('/organizations/acme/teams?include=users')).status, 400);
});
