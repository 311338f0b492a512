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

const ORGANIZATION_PERMISSIONS = [
  'manage-policies',
  'manage-policy-overrides',
  'delegate-policy-overrides',
  'manage-workspaces',
  'manage-vcs-settings',
  'manage-providers',
  'manage-modules',
  'manage-run-tasks',
  'manage-projects',
  'read-workspaces',
  'read-projects',
  'manage-membership',
  'manage-teams',
  'manage-organization-access',
  'access-secret-teams',
  'manage-agent-pools',
  'manage-public-providers',
  'manage-public-modules',
  'manage-registry-components',
  'manage-registry-artifact-tags',
  'manage-registry-artifact-version-tags',
];

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

  test('returns every organization permission [DOC-43]', async () => {
    const everything = Object.fromEntries(ORGANIZATION_PERMISSIONS.map((name) => [name, true]));
    const none = Object.fromEntries(ORGANIZATION_PERMISSIONS.map((name) => [name, false]));
    const { id, attributes } = await team({ name: 'powerful', 'organization-access': everything });
    assert.deepEqual(attributes['organization-access'], everything);
    const body = resource('teams', { 'organization-access': none });
    const changed = documentOf(await admin('PATCH', `/teams/${id}`, body)).data;
    assert.deepEqual(changed.attributes['organization-access'], none);
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
  /** Creates a user in a secret team with one organization permission. */
  async function makeManager(permission: string, name: string) {
    const user = await makeUser(api(), name);
    await join(api(), api().adminToken, 'acme', name);
    const access = { 'organization-access': { [permission]: true } };
    const own = await makeTeam(api(), api().adminToken, 'acme', { name, ...access });
    await addToTeam(api(), api().adminToken, own.id, name);
    return user;
  }
  const PERMISSIONS = ['manage-membership', 'manage-teams', 'manage-organization-access', 'manage-workspaces'] as const;
  before(() => makeOrganization(api(), api().adminToken, 'acme'));

  for (const permission of PERMISSIONS) {
    test(`is refused every way to more than ${permission} [AUTHZ-44]`, async () => {
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
        const answer = await ask(method, path, body);
        if (answer.status !== 403) assert.deepEqual(statusAndText(answer), NOT_FOUND, `${method} ${path}`);
        else assert.match(String(errorsOf(answer)[0]?.['detail']), /which you do not have/, `${method} ${path}`);
      }
    });
  }

  test('gets 404 for the removal of a member who is in a hidden team with another permission [AUTHZ-42]', async () => {
    const { token } = await makeManager('manage-membership', 'remover');
    const strong = { 'organization-access': { 'manage-policies': true } };
    const hidden = await makeTeam(api(), api().adminToken, 'acme', { name: 'hidden-strong', ...strong });
    const weak = await makeTeam(api(), api().adminToken, 'acme', { name: 'hidden-weak' });
    for (const [username, teamId] of [
      ['strong-member', hidden.id],
      ['weak-member', weak.id],
    ] as const) {
      await makeUser(api(), username);
      const membership = await join(api(), api().adminToken, 'acme', username);
      await addToTeam(api(), api().adminToken, teamId, username);
      assert.deepEqual(statusAndText(await request(api(), token, 'GET', `/teams/${teamId}`)), NOT_FOUND);
      const path = `/organization-memberships/${membership}`;
      assert.equal((await request(api(), token, 'GET', path)).status, 200);
      const answer = await request(api(), token, 'DELETE', path);
      assert.deepEqual(statusAndText(answer), teamId === hidden.id ? NOT_FOUND : [204, '']);
    }
  });

  test('makes no team secret without access-secret-teams [AUTHZ-43]', async () => {
    const { token } = await makeManager('manage-teams', 'hider');
    const ask = (method: string, path: string, attributes: Readonly<Record<string, unknown>>) =>
      request(api(), token, method, path, { body: resource('teams', attributes) });
    const isRefused = (answer: Awaited<ReturnType<typeof ask>>) => {
      assert.equal(answer.status, 403, answer.text);
      assert.match(String(errorsOf(answer)[0]?.['detail']), /^a secret team requires 'access-secret-teams'/);
    };
    const path = '/organizations/acme/teams';
    isRefused(await ask('POST', path, { name: 'made-secret' }));
    isRefused(await ask('POST', path, { name: 'made-secret', visibility: 'secret' }));
    const attributes = { name: 'stays-visible', visibility: 'organization' };
    const { id } = documentOf(await ask('POST', path, attributes)).data;
    isRefused(await ask('PATCH', `/teams/${id}`, { visibility: 'secret' }));
    assert.equal((await ask('PATCH', `/teams/${id}`, { description: 'mine' })).status, 200);
    const both = { 'organization-access': { 'manage-teams': true, 'access-secret-teams': true } };
    const seeing = await makeTeam(api(), api().adminToken, 'acme', { name: 'seeing-hiders', ...both });
    await addToTeam(api(), api().adminToken, seeing.id, 'hider');
    assert.equal((await ask('PATCH', `/teams/${id}`, { visibility: 'secret' })).status, 200);
    assert.equal((await ask('POST', path, { name: 'made-secret' })).status, 200);
  });

  test('learns only from a creation that the name of a hidden resource is taken [AUTHZ-14]', async () => {
    const { token } = await makeManager('manage-teams', 'namer');
    const outsider = await makeUser(api(), 'outsider');
    const hidden = await makeTeam(api(), api().adminToken, 'acme', { name: 'taken' });
    assert.deepEqual(statusAndText(await request(api(), token, 'GET', `/teams/${hidden.id}`)), NOT_FOUND);
    assert.deepEqual(statusAndText(await request(api(), outsider.token, 'GET', '/organizations/acme')), NOT_FOUND);
    const create = async (by: string, path: string, type: string, attributes: Readonly<Record<string, unknown>>) => {
      const answer = await request(api(), by, 'POST', path, { body: resource(type, attributes) });
      return answer.status === 422 ? errorsOf(answer).map(({ detail }) => detail) : answer.status;
    };
    const organization = { name: 'acme', email: 'a@example.org' };
    const isTaken = ['Name has already been taken'];
    assert.deepEqual(await create(outsider.token, '/organizations', 'organizations', organization), isTaken);
    const wanted = { name: 'taken', visibility: 'organization' };
    assert.deepEqual(await create(token, '/organizations/acme/teams', 'teams', wanted), isTaken);
    await makeOrganization(api(), outsider.token, 'beta');
    assert.equal(await create(outsider.token, '/organizations/beta/teams', 'teams', { name: 'taken' }), 200);
    for (const [by, name] of [
      [api().adminToken, 'acme'],
      [outsider.token, 'beta'],
    ] as const) {
      const path = `/organizations/${name}/workspaces`;
      assert.equal(await create(by, path, 'workspaces', { name: 'web' }), 201);
      assert.deepEqual(await create(by, path, 'workspaces', { name: 'web' }), isTaken);
    }
  });

  test('reads in the document of a team what they may do with it [DOC-45]', async () => {
    const teams: Record<string, string> = {};
    for (const [name, attributes] of [
      ['weak', {}],
      ['tokenless', { 'allow-member-token-management': false }],
      ['strong', { 'organization-access': { 'manage-policies': true } }],
    ] as const) {
      const made = await makeTeam(api(), api().adminToken, 'acme', { name, visibility: 'organization', ...attributes });
      teams[name] = made.id;
    }
    const owners = documentOf<ResourceObject[]>(
      await request(api(), api().adminToken, 'GET', '/organizations/acme/teams?filter[names]=owners'),
    ).data[0]?.id;
    const permitted = async (token: string, id: string | undefined) => {
      const { attributes } = documentOf(await request(api(), token, 'GET', `/teams/${id}`)).data;
      const permissions = Object.entries(attributes['permissions'] as Record<string, boolean>);
      assert.deepEqual(permissions.map(([name]) => name).toSorted(), ALL);
      return permissions.flatMap(([name, isHeld]) => (isHeld ? [name] : [])).toSorted();
    };
    const CHANGE = ['can-update-member-token-management', 'can-update-name', 'can-update-sso-team-id'];
    const TOKENS = ['can-update-api-token', 'can-view-api-token'];
    const ALL = [
      ...['can-destroy', 'can-update-membership', 'can-update-organization-access', 'can-update-visibility'],
      ...[...CHANGE, ...TOKENS],
    ].toSorted();
    const MANAGE = ['can-destroy', ...CHANGE, 'can-update-membership', 'can-update-visibility'].toSorted();
    assert.deepEqual(await permitted(api().adminToken, teams['strong']), ALL);
    const notDestroy = ALL.filter((name) => name !== 'can-destroy');
    assert.deepEqual(await permitted(api().adminToken, owners), notDestroy);
    for (const [permission, expected] of [
      ['manage-membership', ['can-update-membership']],
      ['manage-teams', MANAGE],
      ['manage-organization-access', ALL.filter((name) => !TOKENS.includes(name))],
      ['read-workspaces', []],
    ] as const) {
      const { token, username } = await makeManager(permission, `documented-${permission}`);
      assert.deepEqual(await permitted(token, teams['weak']), expected, permission);
      assert.deepEqual(await permitted(token, teams['strong']), [], permission);
      for (const name of ['weak', 'tokenless']) await addToTeam(api(), api().adminToken, teams[name] ?? '', username);
      assert.deepEqual(await permitted(token, teams['weak']), [...expected, ...TOKENS].toSorted(), permission);
      assert.deepEqual(await permitted(token, teams['tokenless']), expected, permission);
    }
  });
});
