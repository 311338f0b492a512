import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
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
import { organizations } from '../tables/organization.ts';

const create = (attributes: Readonly<Record<string, unknown>>) => resource('organizations', attributes);

const DEFAULT_SETTINGS = {
  'default-execution-mode': 'remote',
  'collaborator-auth-policy': 'password',
  'session-timeout': 20_160,
  'session-remember': 20_160,
  'owners-team-saml-role-id': null,
  'assessments-enforced': false,
  'cost-estimation-enabled': false,
  'enforce-hyok': false,
  'stacks-enabled': false,
  'send-passing-statuses-for-untriggered-speculative-plans': false,
  'aggregated-commit-status-enabled': false,
  'speculative-plan-management-enabled': false,
  'allow-force-delete-workspaces': false,
  'max-ttl-enabled': false,
  'registry-monorepo-support-enabled': false,
  'user-tokens-enabled': true,
};
const LIMITED_SETTINGS = [
  ...['collaborator-auth-policy', 'session-timeout', 'session-remember', 'owners-team-saml-role-id', 'enforce-hyok'],
  ...['max-ttl-enabled', 'user-tokens-enabled'],
];
/** A valid value of each setting, which differs from the default where other values are accepted. */
const CHANGED_SETTINGS = Object.fromEntries(
  Object.entries(DEFAULT_SETTINGS).map(([name, value]) => {
    // Other values of these settings are refused [AUTHZ-93] [AUTHZ-94].
    if (LIMITED_SETTINGS.includes(name)) return [name, value];
    if (typeof value === 'boolean') return [name, !value];
    return [name, typeof value === 'number' ? 0 : 'other'];
  }),
);
const UNAVAILABLE_PERMISSIONS = [
  'can-create-workspace-migration',
  'can-deploy-no-code-modules',
  'can-manage-no-code-modules',
  'can-view-hyok-feature-info',
  'can-update-hyok-configuration',
  'can-enable-stacks',
];
const PERMISSIONS = [
  'can-traverse',
  'can-update',
  'can-destroy',
  'can-update-api-token',
  'can-manage-auditing',
  'can-create-team',
  'can-create-workspace',
  'can-create-project',
  'can-manage-run-tasks',
  'can-update-oauth',
  'can-update-sentinel',
  ...UNAVAILABLE_PERMISSIONS,
];
const UNAVAILABLE_FEATURES = [
  'agents',
  'cost-estimation',
  'global-run-tasks',
  'operations',
  'private-module-registry',
  'private-run-tasks',
  'run-tasks',
  'sso',
  'sentinel',
  'state-storage',
  'vcs-integrations',
];

describe('an organization', () => {
  // The fake clock does not advance, so that no background job and no repeated token use adds a commit.
  const api = sharedApi({ clock: createFakeClock() });

  // Verifies [DOC-2] [DOC-12] [DOC-38].
  test('is created with its default project and owned by the user [AUTHZ-53] [DOC-3] [DOC-4]', async () => {
    const body = create({ name: 'Acme', email: 'a@acme.example', 'cost-estimation-enabled': true, unknown: 1 });
    const answer = await request(api(), api().adminToken, 'POST', '/organizations', { body });
    assert.equal(answer.status, 201, answer.text);
    const { id, attributes, relationships } = documentOf(answer).data;
    assert.equal(id, 'Acme');
    assert.match(String(attributes['external-id']), /^org-[A-Za-z0-9]{16}$/);
    assert.equal(attributes['cost-estimation-enabled'], true);
    assert.equal(attributes['session-timeout'], 20_160);
    assert.equal('unknown' in attributes, false);
    const permissions = attributes['permissions'] as Record<string, boolean>;
    assert.deepEqual([permissions['can-destroy'], permissions['can-create-team']], [true, true]);
    assert.match(JSON.stringify(relationships['default-project']?.data), /"prj-[A-Za-z0-9]{16}"/);
    const again = await request(api(), api().adminToken, 'GET', '/organizations/acme');
    assert.deepEqual(documentOf(again).data, documentOf(answer).data);
  });

  test('has a unique name without regard to case [DOC-7] [DOC-8]', async () => {
    await makeOrganization(api(), api().adminToken, 'taken');
    const body = create({ name: 'TAKEN', email: 'a@b.example' });
    const answer = await request(api(), api().adminToken, 'POST', '/organizations', { body });
    assert.equal(answer.status, 422);
    assert.deepEqual(errorsOf(answer), [
      {
        status: '422',
        title: 'invalid attribute',
        detail: 'Name has already been taken',
        source: { pointer: '/data/attributes/name' },
      },
    ]);
  });

  test('is rejected with all attribute errors at once [TEAM-28] [AUTHZ-16]', async () => {
    const body = create({ name: 'a b', 'session-timeout': 'x', plan: 'gold' });
    const answer = await request(api(), api().adminToken, 'POST', '/organizations', { body });
    assert.equal(answer.status, 422);
    const pointers = errorsOf(answer).map(({ source }) => (source as { pointer: string }).pointer);
    assert.deepEqual(
      pointers.map((pointer) => pointer.replace('/data/attributes/', '')),
      ['name', 'email', 'plan', 'session-timeout'],
    );
  });

  test('keeps the attributes that an update omits [DOC-13]', async () => {
    await makeOrganization(api(), api().adminToken, 'changing');
    const body = create({ name: 'changed', 'default-execution-mode': 'local' });
    const answer = await request(api(), api().adminToken, 'PATCH', '/organizations/changing', { body });
    const { attributes } = documentOf(answer).data;
    assert.deepEqual(
      [attributes['name'], attributes['default-execution-mode'], attributes['email']],
      ['changed', 'local', 'changing@example.org'],
    );
    assert.deepEqual(
      statusAndText(await request(api(), api().adminToken, 'GET', '/organizations/changing')),
      NOT_FOUND,
    );
  });

  test('is not committed by an update without changes', async () => {
    await makeOrganization(api(), api().adminToken, 'still');
    await api().usesWritten();
    const { snapshot } = api().state;
    const answer = await request(api(), api().adminToken, 'PATCH', '/organizations/still', { body: create({}) });
    assert.equal(answer.status, 200);
    assert.equal(api().state.snapshot, snapshot);
  });

  test('is updated only if If-Match matches its current state [DOC-18]', async () => {
    await makeOrganization(api(), api().adminToken, 'matched');
    const read = await request(api(), api().adminToken, 'GET', '/organizations/matched');
    const tag = read.headers.etag ?? '';
    const write = (etag: string) =>
      request(api(), api().adminToken, 'PATCH', '/organizations/matched', {
        body: create({ 'default-execution-mode': 'local' }),
        headers: { 'if-match': etag },
      });
    assert.equal((await write('"another"')).status, 412);
    assert.equal((await write(tag)).status, 200);
    assert.equal((await write(tag)).status, 412);
    const headers = { 'if-none-match': tag };
    assert.equal((await request(api(), api().adminToken, 'GET', '/organizations/matched', { headers })).status, 200);
    const now = (await request(api(), api().adminToken, 'GET', '/organizations/matched')).headers.etag ?? '';
    const known = await request(api(), api().adminToken, 'GET', '/organizations/matched', {
      headers: { 'if-none-match': now },
    });
    assert.deepEqual(statusAndText(known), [304, '']);
  });

  test('is not found after its deletion, and its name is free [DOC-4]', async () => {
    await makeOrganization(api(), api().adminToken, 'gone');
    const answer = await request(api(), api().adminToken, 'DELETE', '/organizations/gone');
    assert.deepEqual(statusAndText(answer), [204, '']);
    assert.deepEqual(statusAndText(await request(api(), api().adminToken, 'DELETE', '/organizations/gone')), NOT_FOUND);
    assert.equal(api().state.snapshot.find(organizations, 'name', 'gone'), undefined);
    await makeOrganization(api(), api().adminToken, 'gone');
  });

  test('has no teams with the plan free, which a site administrator can set [AUTHZ-17]', async () => {
    await makeOrganization(api(), api().adminToken, 'small');
    const body = create({ plan: 'free' });
    const { attributes } = documentOf(
      await request(api(), api().adminToken, 'PATCH', '/organizations/small', { body }),
    ).data;
    assert.equal((attributes['permissions'] as Record<string, boolean>)['can-create-team'], false);
    const set = documentOf(await request(api(), api().adminToken, 'GET', '/organizations/small/entitlement-set')).data;
    assert.deepEqual([set.attributes['teams'], set.attributes['agents']], [false, false]);
  });

  test('has the attributes of the specification, with default settings [DOC-34] [DOC-35]', async () => {
    const { attributes } = await makeOrganization(api(), api().adminToken, 'plain');
    const { 'external-id': id, 'created-at': createTime, permissions, ...others } = attributes;
    assert.match(String(id), /^org-/);
    assert.match(String(createTime), /^\d{4}-.*Z$/);
    assert.equal(typeof permissions, 'object');
    const constants = {
      plan: 'standard',
      'saml-enabled': false,
      'two-factor-conformant': false,
      'is-unified': false,
      'trial-expires-at': null,
    };
    assert.deepEqual(others, { name: 'plain', email: 'plain@example.org', ...constants, ...DEFAULT_SETTINGS });
    const body = create({ name: 'plainer', email: 'new@example.org', ...CHANGED_SETTINGS });
    const changed = documentOf(await request(api(), api().adminToken, 'PATCH', '/organizations/plain', { body })).data;
    for (const [name, value] of Object.entries(body.data.attributes)) assert.equal(changed.attributes[name], value);
  });

  test('is rejected without name and email, and with settings of a wrong type [DOC-34] [DOC-35]', async () => {
    const names = Object.keys(DEFAULT_SETTINGS);
    const body = create(Object.fromEntries(names.map((name) => [name, []])));
    const answer = await request(api(), api().adminToken, 'POST', '/organizations', { body });
    assert.deepEqual(
      errorsOf(answer)
        .map(({ source }) => (source as { pointer: string }).pointer.replace('/data/attributes/', ''))
        .toSorted(),
      ['name', 'email', ...names].toSorted(),
    );
  });

  test('stores a null session-timeout or session-remember, and returns 20160 [DOC-36]', async () => {
    await makeOrganization(api(), api().adminToken, 'timeless');
    const update = async (value: number | null) => {
      const body = create({ 'session-timeout': value, 'session-remember': value });
      const answer = await request(api(), api().adminToken, 'PATCH', '/organizations/timeless', { body });
      const { attributes } = documentOf(answer).data;
      const stored = api().state.snapshot.find(organizations, 'name', 'timeless')?.row.settings;
      return [attributes, stored].map((from) => [from?.['session-timeout'], from?.['session-remember']]);
    };
    assert.deepEqual(await update(20_160), [
      [20_160, 20_160],
      [20_160, 20_160],
    ]);
    assert.deepEqual(await update(null), [
      [20_160, 20_160],
      [null, null],
    ]);
  });

  test('returns the permissions of each caller [DOC-37]', async () => {
    await makeOrganization(api(), api().adminToken, 'permitting');
    const permissionsOf = async (token: string) => {
      const { attributes } = documentOf(await request(api(), token, 'GET', '/organizations/permitting')).data;
      const permissions = Object.entries(attributes['permissions'] as Record<string, boolean>);
      assert.deepEqual(permissions.map(([name]) => name).toSorted(), PERMISSIONS.toSorted());
      return permissions.flatMap(([name, isHeld]) => (isHeld ? [name] : [])).toSorted();
    };
    const forOwners = PERMISSIONS.filter((name) => !UNAVAILABLE_PERMISSIONS.includes(name));
    assert.deepEqual(await permissionsOf(api().adminToken), forOwners.toSorted());
    for (const [permission, granted] of [
      ['manage-teams', ['can-create-team']],
      ['manage-workspaces', ['can-create-workspace']],
      ['manage-projects', ['can-create-project', 'can-create-workspace']],
      ['manage-run-tasks', ['can-manage-run-tasks']],
      ['manage-vcs-settings', ['can-update-oauth']],
      ['manage-policies', ['can-update-sentinel']],
      ['read-workspaces', []],
    ] as const) {
      const access = { 'organization-access': { [permission]: true } };
      const team = await makeTeam(api(), api().adminToken, 'permitting', { name: permission, ...access });
      const { token, username } = await makeUser(api(), permission);
      await join(api(), api().adminToken, 'permitting', username);
      await addToTeam(api(), api().adminToken, team.id, username);
      assert.deepEqual(await permissionsOf(token), [...granted, 'can-traverse'].toSorted(), permission);
    }
    const body = create({ plan: 'free' });
    documentOf(await request(api(), api().adminToken, 'PATCH', '/organizations/permitting', { body }));
    const withoutTeams = forOwners.filter((name) => name !== 'can-create-team');
    assert.deepEqual(await permissionsOf(api().adminToken), withoutTeams.toSorted());
  });

  test('has an entitlement set that depends on the plan [DOC-40]', async () => {
    const { attributes: organization } = await makeOrganization(api(), api().adminToken, 'entitled');
    for (const plan of ['standard', 'free']) {
      await request(api(), api().adminToken, 'PATCH', '/organizations/entitled', { body: create({ plan }) });
      const answer = await request(api(), api().adminToken, 'GET', '/organizations/entitled/entitlement-set');
      const { id, type, attributes } = documentOf(answer).data;
      assert.deepEqual([id, type], [organization['external-id'], 'entitlement-sets']);
      const included = plan === 'standard';
      const unavailable = Object.fromEntries(UNAVAILABLE_FEATURES.map((name) => [name, false]));
      assert.deepEqual(attributes, { teams: included, 'audit-logging': included, ...unavailable });
    }
  });

  test('has one project, which clients can only read [DOC-41]', async () => {
    const { relationships } = await makeOrganization(api(), api().adminToken, 'projected');
    const { id } = (relationships['default-project']?.data ?? {}) as { readonly id?: string };
    const list = await request(api(), api().adminToken, 'GET', '/organizations/projected/projects');
    const read = await request(api(), api().adminToken, 'GET', `/projects/${id}`);
    const { data } = documentOf(read);
    assert.deepEqual(documentOf<ResourceObject[]>(list).data, [data]);
    const { 'created-at': createTime, ...others } = data.attributes;
    assert.match(String(createTime), /Z$/);
    assert.deepEqual([data.id, data.type, others], [id, 'projects', { name: 'Default Project' }]);
    assert.deepEqual(data.relationships['organization']?.data, { id: 'projected', type: 'organizations' });
    assert.deepEqual((data as unknown as Record<string, unknown>)['links'], { self: `/api/v2/projects/${id}` });
    for (const [method, path] of [
      ['POST', '/organizations/projected/projects'],
      ['PATCH', `/projects/${id}`],
      ['DELETE', `/projects/${id}`],
    ] as const) {
      const answer = await request(api(), api().adminToken, method, path, { body: resource('projects', {}) });
      assert.equal(answer.status, 405, `${method} ${path}`);
    }
  });

  test('has an ETag that is the hash of its document [DOC-16]', async () => {
    await makeOrganization(api(), api().adminToken, 'tagged');
    for (const path of ['/organizations/tagged', '/organizations?q=tagged', '/organizations/tagged/projects']) {
      const { headers, text } = await request(api(), api().adminToken, 'GET', path);
      assert.equal(headers.etag, `"${hash('sha256', text, 'base64url')}"`);
      assert.equal(headers['cache-control'], 'private, no-cache');
    }
  });

  test('is not listed with filters and sort orders that the endpoint does not know [DOC-28]', async () => {
    for (const name of ['sort', 'filter[name]', 'search[name]', 'filter[x][y]']) {
      const answer = await request(api(), api().adminToken, 'GET', `/organizations?q=sorted&${name}=x`);
      assert.equal(answer.status, 400, name);
      const detail = `Invalid ${name.split('[')[0]} parameter "${name}": this endpoint has page[number], page[size], q`;
      assert.deepEqual(errorsOf(answer), [
        { status: '400', title: 'bad request', detail, source: { parameter: name } },
      ]);
    }
  });

  test('is listed for its members in pages [AUTHZ-56] [DOC-24] [DOC-27]', async () => {
    const list = async (query: string) =>
      documentOf<ResourceObject[]>(await request(api(), api().adminToken, 'GET', `/organizations?${query}`));
    const all = (await list('page[size]=100')).data.map(({ id }) => id);
    const { data, links, meta } = await list('page[number]=2&page[size]=1');
    assert.deepEqual(
      data.map(({ id }) => id),
      all.slice(1, 2),
    );
    assert.equal(meta?.pagination['total-count'], all.length);
    assert.match(links?.['prev'] ?? '', /^http:\/\/127\.0\.0\.1:\d+\/api\/v2\/organizations\?page%5Bnumber%5D=1&/);
    assert.deepEqual(
      (await list('q=ACM')).data.map(({ id }) => id),
      ['Acme'],
    );
  });
});
