import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { sharedApi, startApi } from '../../../test/support/process/api.ts';
import {
  createOrganizationFixture,
  type OrganizationFixture,
} from '../../../test/support/team-access/organization-fixture.ts';
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

const CONSTANTS = {
  locked: false,
  'resource-count': 0,
  source: 'tfe-api',
  'tag-names': [],
  'vcs-repo': null,
  actions: { 'is-destroyable': true },
};
const DEFAULT_SETTINGS = {
  'execution-mode': 'remote',
  description: null,
  'terraform-version': null,
  'working-directory': null,
  'source-name': null,
  'source-url': null,
  'auto-destroy-at': null,
  'auto-destroy-activity-duration': null,
  'trigger-prefixes': [],
  'trigger-patterns': [],
  'allow-destroy-plan': true,
  'file-triggers-enabled': true,
  'inherits-project-auto-destroy': true,
  'speculative-enabled': true,
  'structured-run-output-enabled': true,
  operations: true,
  'assessments-enabled': false,
  'auto-apply': false,
  'auto-apply-run-trigger': false,
  'global-remote-state': false,
  'project-remote-state': false,
  'queue-all-runs': false,
  'setting-overwrites': null,
};
/** A valid value of each setting that differs from the default. */
const CHANGED_SETTINGS = {
  ...Object.fromEntries(
    Object.entries(DEFAULT_SETTINGS).map(([name, value]) => {
      if (typeof value === 'boolean') return [name, !value];
      // Other values of these settings are refused [AUTHZ-94].
      if (name.startsWith('auto-destroy-')) return [name, value];
      return [name, Array.isArray(value) ? Array.from({ length: 100 }, () => 'x') : 'other'];
    }),
  ),
  'setting-overwrites': { 'execution-mode': true },
};

describe('a workspace', () => {
  const api = sharedApi();
  let created: Promise<OrganizationFixture> | undefined;
  const world = (): Promise<OrganizationFixture> => {
    created ??= createOrganizationFixture(api());
    return created;
  };
  const PATH = '/organizations/acme/workspaces';
  const owner = async (method: string, path: string, body?: unknown) =>
    request(api(), (await world()).tokens.owner, method, path, body === undefined ? {} : { body });

  // Verifies [DOC-12] [DOC-39].
  test('stores the settings of the body and is found by name and by ID [DOC-13] [DOC-62] [DOC-63]', async () => {
    const attributes = { name: 'kept', 'auto-apply': true, 'trigger-prefixes': ['a'], description: 'x', other: 1 };
    const answer = await owner('POST', PATH, resource('workspaces', attributes));
    assert.equal(answer.status, 201);
    const { id, attributes: kept, relationships } = documentOf(answer).data;
    assert.deepEqual(
      ['auto-apply', 'trigger-prefixes', 'description', 'operations', 'other'].map((name) => kept[name]),
      [true, ['a'], 'x', true, undefined],
    );
    assert.deepEqual(relationships['organization']?.data, { id: 'acme', type: 'organizations' });
    assert.equal(documentOf(await owner('GET', `${PATH}/KEPT`)).data.id, id);
    const changed = documentOf(
      await owner('PATCH', `/workspaces/${id}`, resource('workspaces', { name: 'renamed' })),
    ).data;
    assert.deepEqual([changed.attributes['name'], changed.attributes['description']], ['renamed', 'x']);
    assert.deepEqual(statusAndText(await owner('GET', `${PATH}/kept`)), NOT_FOUND);
    assert.deepEqual(statusAndText(await owner('POST', `${PATH}/renamed/actions/safe-delete`)), [204, '']);
    assert.deepEqual(statusAndText(await owner('GET', `/workspaces/${id}`)), NOT_FOUND);
  });

  // Verifies [TEAM-28].
  test('is rejected with all attribute errors at once [DOC-8] [DOC-10] [DOC-14]', async () => {
    const body = resource('workspaces', { name: 'x'.repeat(91), 'auto-apply': 'yes', 'trigger-prefixes': [1] });
    const answer = await owner('POST', PATH, body);
    assert.deepEqual(
      errorsOf(answer).map(({ detail }) => detail),
      [
        'Name is invalid: want up to 90 letters, digits, underscores and hyphens',
        'Trigger prefixes is invalid: want a list of up to 100 texts, each of up to 1024 characters, with no control characters except tabs and line ends',
        'Auto apply is invalid: want true or false',
      ],
    );
    const taken = await owner('POST', PATH, resource('workspaces', { name: 'Production' }));
    assert.equal(errorsOf(taken)[0]?.['detail'], 'Name has already been taken');
  });

  test('has the attributes of the specification, with default settings [DOC-58] [DOC-59] [DOC-61]', async () => {
    const clock = createFakeClock();
    await using own = await startApi({ clock });
    const organization = await makeOrganization(own, own.adminToken, 'acme');
    const ask = async (method: string, path: string, body?: unknown) =>
      documentOf(await request(own, own.adminToken, method, path, body === undefined ? {} : { body })).data;
    const createTime = new Date(clock.now()).toISOString();
    const { id, attributes, relationships, ...others } = await ask('POST', PATH, resource('workspaces', { name: 'a' }));
    const { permissions, ...values } = attributes;
    assert.equal(typeof permissions, 'object');
    const expected = {
      name: 'a',
      'created-at': createTime,
      'updated-at': createTime,
      ...CONSTANTS,
      ...DEFAULT_SETTINGS,
    };
    assert.deepEqual(values, expected);
    const project = organization.relationships['default-project'];
    const links = { self: '/api/v2/organizations/acme/workspaces/a' };
    assert.deepEqual(others, { type: 'workspaces', links });
    assert.deepEqual(Object.keys(relationships), ['organization', 'project']);
    assert.deepEqual(relationships['organization']?.data, { id: 'acme', type: 'organizations' });
    assert.deepEqual(relationships['project'], project);
    clock.advance(1_000);
    const updateTime = new Date(clock.now()).toISOString();
    const sent = { name: 'b', ...CHANGED_SETTINGS };
    const changed = (await ask('PATCH', `/workspaces/${id}`, resource('workspaces', sent))).attributes;
    assert.deepEqual({ ...changed, permissions }, { ...expected, ...sent, 'updated-at': updateTime, permissions });
  });

  test('is rejected without a name, and with settings of a wrong type [DOC-58] [DOC-59]', async () => {
    const names = Object.keys(DEFAULT_SETTINGS);
    const pointersOf = async (attributes: Readonly<Record<string, unknown>>) =>
      errorsOf(await owner('POST', PATH, resource('workspaces', attributes)))
        .map(({ source }) => (source as { pointer: string }).pointer.replace('/data/attributes/', ''))
        .toSorted();
    const wrong = Object.fromEntries(names.map((name) => [name, 1]));
    assert.deepEqual(await pointersOf(wrong), ['name', ...names].toSorted());
    const texts = Array.from({ length: 101 }, () => 'x');
    const overwrites = Object.fromEntries(texts.map((text, i) => [`${text}${i}`, true]));
    const long = { 'trigger-patterns': texts, 'trigger-prefixes': texts, 'setting-overwrites': overwrites };
    assert.deepEqual(await pointersOf({ name: 'long', ...long }), Object.keys(long).toSorted());
  });

  test('returns the permissions of each caller [DOC-60]', async () => {
    const { tokens, workspace } = await world();
    const permissionsOf = async (token: string | null) => {
      const { attributes } = documentOf(await request(api(), token, 'GET', `/workspaces/${workspace}`)).data;
      const permissions = attributes['permissions'] as Record<string, boolean>;
      const names = ['can-update', 'can-queue-run', 'can-queue-apply', 'can-read-variable', 'can-lock'];
      return names.map((name) => permissions[name]);
    };
    const cases = [
      ['owner', [true, true, true, true, true]],
      ['workspaces-manager', [true, true, true, true, true]],
      ['member', [false, true, false, true, false]],
      ['insider', [false, false, false, true, false]],
    ] as const;
    for (const [caller, expected] of cases) {
      assert.deepEqual(await permissionsOf(tokens[caller]), expected, caller);
    }
  });

  test('is listed for callers with access, and by part of its name [AUTHZ-20] [DOC-27]', async () => {
    const { tokens } = await world();
    documentOf(await owner('POST', PATH, resource('workspaces', { name: 'staging' })));
    const names = async (token: string | null, query = '') =>
      documentOf<ResourceObject[]>(await request(api(), token, 'GET', `${PATH}?${query}`)).data.map(
        ({ attributes }) => attributes['name'],
      );
    assert.deepEqual(await names(tokens.owner), ['production', 'staging']);
    assert.deepEqual(await names(tokens.owner, 'search[name]=STAG'), ['staging']);
    assert.deepEqual(await names(tokens.member), ['production']);
    assert.deepEqual(await names(tokens['teams-manager']), []);
  });
});
