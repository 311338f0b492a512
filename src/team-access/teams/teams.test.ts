import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import { sharedApi } from '../../../test/support/process/api.ts';
import { addToTeam, join, makeTeam, makeUser } from '../../../test/support/team-access/organization-fixture.ts';
import {
  documentOf,
  errorsOf,
  makeOrganization,
  NOT_FOUND,
  type ResourceObject,
  request,
  resource,
  statusAndText,
} from '../../../test/support/team-access/team-access.ts';

describe('a team', () => {
  const api = sharedApi();
  const as = (token: string) => (method: string, path: string, body?: unknown) =>
    request(api(), token, method, path, body === undefined ? {} : { body });
  const admin = (method: string, path: string, body?: unknown) => as(api().adminToken)(method, path, body);
  const team = (attributes: Readonly<Record<string, unknown>>) => makeTeam(api(), api().adminToken, 'acme', attributes);
  before(() => makeOrganization(api(), api().adminToken, 'acme'));

  test('is secret and has no members by default [AUTHZ-39] [DOC-42]', async () => {
    const { attributes, relationships } = await team({ name: 'plain' });
    assert.deepEqual(
      ['visibility', 'users-count', 'description', 'allow-member-token-management'].map((name) => attributes[name]),
      ['secret', 0, null, true],
    );
    assert.ok(Object.values(attributes['organization-access'] as object).every((given) => given === false));
    assert.deepEqual(relationships['users']?.data, []);
  });

  test('returns its organization access as sent, without implied permissions [AUTHZ-11]', async () => {
    const created = await team({ name: 'managing', 'organization-access': { 'manage-projects': true, unknown: true } });
    const access = created.attributes['organization-access'] as Record<string, boolean>;
    assert.deepEqual(
      [access['manage-projects'], access['manage-workspaces'], 'unknown' in access],
      [true, false, false],
    );
    const body = resource('teams', { 'organization-access': { 'manage-projects': false, 'read-workspaces': true } });
    const changed = documentOf(await admin('PATCH', `/teams/${created.id}`, body)).data;
    const after = changed.attributes['organization-access'] as Record<string, boolean>;
    assert.deepEqual([after['manage-projects'], after['read-workspaces']], [false, true]);
    assert.equal(changed.attributes['name'], 'managing');
  });

  test('is rejected with all attribute errors at once [TEAM-28] [DOC-44]', async () => {
    const attributes = {
      name: 'a b',
      visibility: 'public',
      'sso-team-id': 1,
      'allow-member-token-management': 'yes',
      'organization-access': { 'manage-teams': 1 },
    };
    const answer = await admin('POST', '/organizations/acme/teams', resource('teams', attributes));
    assert.equal(answer.status, 422);
    assert.deepEqual(
      errorsOf(answer).map(({ source }) => (source as { pointer: string }).pointer.replace('/data/attributes/', '')),
      ['name', 'visibility', 'sso-team-id', 'allow-member-token-management', 'organization-access/manage-teams'],
    );
  });

  test('has a unique name within its organization [DOC-7]', async () => {
    await team({ name: 'twice' });
    const answer = await admin('POST', '/organizations/acme/teams', resource('teams', { name: 'Twice' }));
    assert.equal(errorsOf(answer)[0]?.['detail'], 'Name has already been taken');
    await makeOrganization(api(), api().adminToken, 'other');
    const elsewhere = await admin('POST', '/organizations/other/teams', resource('teams', { name: 'twice' }));
    assert.equal(elsewhere.status, 200);
  });

  test('gets and loses members by username and by membership ID [AUTHZ-48] [DOC-47]', async () => {
    const { id } = await team({ name: 'members' });
    const one = await makeUser(api(), 'one');
    const two = await makeUser(api(), 'two');
    await join(api(), api().adminToken, 'acme', 'one');
    const membership = await join(api(), api().adminToken, 'acme', 'two');
    await addToTeam(api(), api().adminToken, id, 'ONE', 'one');
    const byMembership = { data: [{ type: 'organization-memberships', id: membership }] };
    assert.equal(
      (await admin('POST', `/teams/${id}/relationships/organization-memberships`, byMembership)).status,
      204,
    );
    const read = documentOf(await admin('GET', `/teams/${id}?include=users,organization-memberships`));
    assert.equal(read.data.attributes['users-count'], 2);
    const names = read.included?.filter(({ type }) => type === 'users').map(({ attributes }) => attributes['username']);
    assert.deepEqual(names?.toSorted(), ['one', 'two']);
    assert.equal((await as(one.token)('GET', `/teams/${id}`)).status, 200);
    assert.equal(
      (await admin('DELETE', `/teams/${id}/relationships/organization-memberships`, byMembership)).status,
      204,
    );
    assert.deepEqual(statusAndText(await as(two.token)('GET', `/teams/${id}`)), NOT_FOUND);
    assert.equal((await admin('DELETE', `/organization-memberships/${membership}`)).status, 204);
    assert.deepEqual(
      statusAndText(await admin('POST', `/teams/${id}/relationships/organization-memberships`, byMembership)),
      NOT_FOUND,
    );
    const stranger = { data: [{ type: 'users', id: 'two' }] };
    assert.deepEqual(statusAndText(await admin('POST', `/teams/${id}/relationships/users`, stranger)), NOT_FOUND);
  });

  test('named owners cannot be deleted or lose its last member [AUTHZ-15] [AUTHZ-51] [AUTHZ-64]', async () => {
    const [owners] = documentOf<ResourceObject[]>(
      await admin('GET', '/organizations/acme/teams?filter[names]=OWNERS'),
    ).data;
    assert.ok(owners !== undefined);
    assert.equal((await admin('DELETE', `/teams/${owners.id}`)).status, 403);
    const body = { data: [{ type: 'users', id: 'admin' }] };
    assert.equal((await admin('DELETE', `/teams/${owners.id}/relationships/users`, body)).status, 403);
    const all = documentOf<ResourceObject[]>(
      await admin('GET', '/organizations/acme/organization-memberships?q=admin'),
    ).data;
    assert.equal((await admin('DELETE', `/organization-memberships/${all[0]?.id}`)).status, 403);
    const heir = await makeUser(api(), 'heir');
    await join(api(), api().adminToken, 'acme', 'heir');
    await addToTeam(api(), api().adminToken, owners.id, 'heir');
    assert.equal((await admin('DELETE', `/teams/${owners.id}/relationships/users`, body)).status, 204);
    assert.equal((await admin('GET', `/teams/${owners.id}`)).status, 404);
    await addToTeam(api(), heir.token, owners.id, 'admin');
    assert.equal((await admin('GET', `/teams/${owners.id}`)).status, 200);
  });

  // Verifies [DOC-30].
  test('is listed in order of creation for callers who can see it [AUTHZ-40] [DOC-21] [DOC-27]', async () => {
    await makeOrganization(api(), api().adminToken, 'listed');
    for (const name of ['c', 'a', 'b']) await makeTeam(api(), api().adminToken, 'listed', { name });
    await makeTeam(api(), api().adminToken, 'listed', { name: 'seen', visibility: 'organization' });
    const user = await makeUser(api(), 'lister');
    await join(api(), api().adminToken, 'listed', 'lister');
    const names = async (token: string, query = '') =>
      documentOf<ResourceObject[]>(await as(token)('GET', `/organizations/listed/teams?${query}`)).data.map(
        ({ attributes }) => attributes['name'],
      );
    assert.deepEqual(await names(api().adminToken), ['owners', 'c', 'a', 'b', 'seen']);
    assert.deepEqual(await names(api().adminToken, 'filter[names]=a,C'), ['c', 'a']);
    assert.deepEqual(await names(user.token), ['seen']);
    const page = documentOf<ResourceObject[]>(await as(user.token)('GET', '/organizations/listed/teams?page[size]=1'));
    assert.equal(page.meta?.pagination['total-count'], 1);
    assert.equal((await admin('GET', '/organizations/listed/teams?include=workspaces')).status, 400);
  });

  test('is not found while the organization has the plan free [AUTHZ-18]', async () => {
    await makeOrganization(api(), api().adminToken, 'poor');
    const { id } = await makeTeam(api(), api().adminToken, 'poor', { name: 'kept' });
    const plan = (name: string) => admin('PATCH', '/organizations/poor', resource('organizations', { plan: name }));
    await plan('free');
    for (const path of ['/organizations/poor/teams', `/teams/${id}`, '/organizations/poor/team-tokens']) {
      assert.deepEqual(statusAndText(await admin('GET', path)), NOT_FOUND, path);
    }
    await plan('standard');
    assert.equal((await admin('GET', `/teams/${id}`)).status, 200);
  });
});

describe('a caller with one organization permission', () => {
  const api = sharedApi();
  /** Creates a member of a team with one organization permission. */
  async function holder(permission: string) {
    const name = permission;
    const user = await makeUser(api(), name);
    const membership = await join(api(), api().adminToken, 'acme', name);
    const access = { 'organization-access': { [permission]: true } };
    const own = await makeTeam(api(), api().adminToken, 'acme', { name, visibility: 'organization', ...access });
    await addToTeam(api(), api().adminToken, own.id, name);
    return { ...user, own: own.id, membership };
  }
  const PERMISSIONS = ['manage-membership', 'manage-teams', 'manage-organization-access', 'manage-workspaces'] as const;
  before(() => makeOrganization(api(), api().adminToken, 'acme'));

  for (const permission of PERMISSIONS) {
    test(`gets 404 for every way to more than ${permission} [AUTHZ-44]`, async () => {
      const { token, own, username, membership } = await holder(permission);
      const stronger = await makeTeam(api(), api().adminToken, 'acme', {
        name: `above-${permission}`,
        visibility: 'organization',
        'organization-access': { 'manage-policies': true },
      });
      const ask = (method: string, path: string, body?: unknown) =>
        request(api(), token, method, path, body === undefined ? {} : { body });
      const [owners] = documentOf<ResourceObject[]>(
        await request(api(), api().adminToken, 'GET', '/organizations/acme/teams?filter[names]=owners'),
      ).data;
      const self = { data: [{ type: 'users', id: username }] };
      const asMember = { data: [{ type: 'organization-memberships', id: membership }] };
      const more = resource('teams', { 'organization-access': { 'manage-policies': true } });
      const escalations: readonly (readonly [string, string, unknown?])[] = [
        ['PATCH', `/teams/${own}`, more],
        ['PATCH', `/teams/${stronger.id}`, resource('teams', { name: 'mine' })],
        ['DELETE', `/teams/${stronger.id}`],
        ['POST', `/teams/${stronger.id}/relationships/users`, self],
        ['POST', `/teams/${stronger.id}/relationships/organization-memberships`, asMember],
        ['POST', `/teams/${owners?.id}/relationships/users`, self],
        ['POST', `/teams/${owners?.id}/relationships/organization-memberships`, asMember],
        ['PATCH', `/teams/${owners?.id}`, resource('teams', { visibility: 'organization' })],
        ['POST', `/teams/${stronger.id}/authentication-token`],
        ['POST', `/teams/${owners?.id}/authentication-token`],
        ['POST', '/organizations/acme/authentication-token'],
        [
          'POST',
          '/organizations/acme/teams',
          resource('teams', { ...more.data.attributes, name: `new-${permission}` }),
        ],
        [
          'POST',
          '/organizations/acme/organization-memberships',
          resource(
            'organization-memberships',
            { email: 'friend@example.org' },
            { teams: { data: [{ type: 'teams', id: stronger.id }] } },
          ),
        ],
        ['PATCH', '/organizations/acme', resource('organizations', { email: 'mine@example.org' })],
        ['GET', `/teams/${owners?.id}?include=users`],
        ['GET', `/teams/${owners?.id}/authentication-tokens`],
      ];
      for (const [method, path, body] of escalations) {
        assert.deepEqual(statusAndText(await ask(method, path, body)), NOT_FOUND, `${method} ${path}`);
      }
    });
  }
});
