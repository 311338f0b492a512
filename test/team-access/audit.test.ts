/**
 * Checks the audit entries of every write of team access [TEAM-98]. An endpoint that writes and is not in `writes`
 * fails the first test.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type AuditEntry, auditLog, SYSTEM } from '../../src/audit/record.ts';
import { newId } from '../../src/credentials/ids-and-secrets.ts';
import { users as userTable } from '../../src/credentials/user.ts';
import type { DeepReadonly } from '../../src/state/table.ts';
import { memberships } from '../../src/team-access/tables/organization-membership.ts';
import { createPendingUser } from '../../src/team-access/users/pending-users.ts';
import { type Api, startApi } from '../support/process/api.ts';
import {
  type CallerName,
  createOrganizationFixture,
  join,
  makeTeam,
  makeUser,
  type OrganizationFixture,
} from '../support/team-access/organization-fixture.ts';
import {
  documentOf,
  makeOrganization,
  type ResourceObject,
  request,
  resource,
  toOne,
} from '../support/team-access/team-access.ts';

interface Write {
  /** The method and the pattern of the path, without `/api/v2`. */
  readonly endpoint: string;
  /** Creates what the write needs and returns the path. */
  readonly path: (fixture: OrganizationFixture) => string | Promise<string>;
  readonly body?: (fixture: OrganizationFixture) => unknown;
  /** The owner by default. */
  readonly caller?: CallerName;
  /** The action and type of each entry, in order. */
  readonly entries: readonly string[];
  /** Whether the entries belong to no organization. */
  readonly isUserWrite?: true;
}

const ORGANIZATION = '/organizations/acme';
const MEMBERSHIPS = '/organizations/:name/organization-memberships';
const TOKEN = resource('authentication-tokens', { description: 'one' });

let createdCount = 0;
const uniqueName = (prefix: string): string => {
  createdCount += 1;
  return `${prefix}-${createdCount}`;
};
const ownerOf = ({ tokens }: OrganizationFixture): string => tokens.owner ?? '';
const newTeam = async (fixture: OrganizationFixture): Promise<string> => {
  const { id } = await makeTeam(fixture.api, ownerOf(fixture), 'acme', { name: uniqueName('team') });
  return `/teams/${id}`;
};
const post = async (fixture: OrganizationFixture, path: string, body?: unknown): Promise<ResourceObject> =>
  documentOf(await request(fixture.api, ownerOf(fixture), 'POST', path, { body })).data;
const newWorkspace = async (fixture: OrganizationFixture): Promise<ResourceObject> =>
  await post(fixture, `${ORGANIZATION}/workspaces`, resource('workspaces', { name: uniqueName('workspace') }));
const newWorkspaceByName = async (fixture: OrganizationFixture): Promise<string> =>
  `${ORGANIZATION}/workspaces/${(await newWorkspace(fixture)).attributes['name']}`;
const newWorkspaceById = async (fixture: OrganizationFixture): Promise<string> =>
  `/workspaces/${(await newWorkspace(fixture)).id}`;
const newMembership = async ({ api, tokens }: OrganizationFixture): Promise<string> => {
  const { username } = await makeUser(api, uniqueName('user'));
  return await join(api, tokens.owner ?? '', 'acme', username);
};
/** Writes an invitation of the caller `outsider`, which this server, whose members join at once, does not create. */
const newInvitation = async ({ api, tokens, users }: OrganizationFixture): Promise<string> => {
  const name = uniqueName('organization');
  const { attributes } = await makeOrganization(api, tokens.owner ?? '', name);
  const organizationId = String(attributes['external-id']);
  return await api.state.write((tx) => {
    const email = tx.get(userTable, users.outsider?.id ?? '')?.row.email ?? '';
    const userId = createPendingUser({ tx, origin: SYSTEM }, { organizationId, email }).id;
    const id = newId('ou');
    tx.put(memberships, { id, organizationId, userId, createTime: new Date(tx.now).toISOString(), place: 0 });
    return id;
  });
};
const newRow = async (fixture: OrganizationFixture): Promise<string> => {
  const { id } = await post(fixture, '/team-workspaces', await rowBody(fixture));
  return `/team-workspaces/${id}`;
};
const rowBody = async (fixture: OrganizationFixture) => {
  const { id } = await newWorkspace(fixture);
  const related = { team: toOne('teams', fixture.visibleTeam), workspace: toOne('workspaces', id) };
  return resource('team-workspaces', { access: 'read' }, related);
};
const newOrganization = async (fixture: OrganizationFixture): Promise<string> => {
  const { id } = await makeOrganization(fixture.api, ownerOf(fixture), uniqueName('organization'));
  return `/organizations/${id}`;
};
/** Creates a token at `authentication-token` of the created resource and returns its path. */
const withToken = (make: (fixture: OrganizationFixture) => Promise<string>) => async (fixture: OrganizationFixture) => {
  const path = `${await make(fixture)}/authentication-token`;
  await post(fixture, path);
  return path;
};

const memberWrites = (['users', 'organization-memberships'] as const).flatMap((by): Write[] => {
  const endpoint = `/teams/:id/relationships/${by}`;
  const body = ({ users }: OrganizationFixture) => ({
    data: [{ type: by, id: by === 'users' ? users.member?.username : memberId }],
  });
  const path = async (fixture: OrganizationFixture) => `${await newTeam(fixture)}/relationships/${by}`;
  return [
    { endpoint: `POST ${endpoint}`, path, body, entries: ['create team-members'] },
    {
      endpoint: `DELETE ${endpoint}`,
      async path(fixture) {
        const at = await path(fixture);
        await request(fixture.api, fixture.tokens.owner, 'POST', at, { body: body(fixture) });
        return at;
      },
      body,
      entries: ['destroy team-members'],
    },
  ];
});
/** The ID of the membership of the caller `member`. */
let memberId = '';

const tokenWrites: readonly Write[] = [
  {
    endpoint: 'POST /organizations/:name/authentication-token',
    path: async (fixture) => `${await newOrganization(fixture)}/authentication-token`,
    entries: ['create authentication-tokens'],
  },
  {
    endpoint: 'DELETE /organizations/:name/authentication-token',
    path: withToken(newOrganization),
    entries: ['destroy authentication-tokens'],
  },
  {
    endpoint: 'POST /teams/:id/authentication-token',
    // Replaces the existing token [AUTHZ-75].
    path: withToken(newTeam),
    entries: ['destroy authentication-tokens', 'create authentication-tokens'],
  },
  {
    endpoint: 'DELETE /teams/:id/authentication-token',
    path: withToken(newTeam),
    entries: ['destroy authentication-tokens'],
  },
  {
    endpoint: 'POST /teams/:id/authentication-tokens',
    path: async (fixture) => `${await newTeam(fixture)}/authentication-tokens`,
    body: () => TOKEN,
    entries: ['create authentication-tokens'],
  },
  {
    endpoint: 'POST /users/:id/authentication-tokens',
    path: ({ users }) => `/users/${users.owner?.id}/authentication-tokens`,
    body: () => TOKEN,
    entries: ['create authentication-tokens'],
    isUserWrite: true,
  },
  {
    endpoint: 'DELETE /authentication-tokens/:id',
    path: async (fixture) =>
      `/authentication-tokens/${(await post(fixture, `${await newTeam(fixture)}/authentication-tokens`, TOKEN)).id}`,
    entries: ['destroy authentication-tokens'],
  },
];

const writes: readonly Write[] = [
  {
    endpoint: 'POST /admin/users',
    path: () => '/admin/users',
    body: () => resource('users', { username: uniqueName('user'), email: `${uniqueName('user')}@example.org` }),
    caller: 'site-admin',
    entries: ['create users', 'create authentication-tokens'],
    isUserWrite: true,
  },
  {
    endpoint: 'DELETE /admin/users/:id',
    path: async ({ api }) => `/admin/users/${(await makeUser(api, uniqueName('user'))).id}`,
    caller: 'site-admin',
    entries: ['destroy users'],
    isUserWrite: true,
  },
  {
    endpoint: 'POST /organizations',
    path: () => '/organizations',
    body: () => resource('organizations', { name: uniqueName('organization'), email: 'o@example.org' }),
    entries: ['create organizations'],
  },
  {
    endpoint: 'PATCH /organizations/:name',
    path: newOrganization,
    body: () => resource('organizations', { email: 'changed@example.org' }),
    entries: ['update organizations'],
  },
  { endpoint: 'DELETE /organizations/:name', path: newOrganization, entries: ['destroy organizations'] },
  {
    endpoint: 'POST /organizations/:name/teams',
    path: () => `${ORGANIZATION}/teams`,
    body: () => resource('teams', { name: uniqueName('team') }),
    entries: ['create teams'],
  },
  {
    endpoint: 'PATCH /teams/:id',
    path: newTeam,
    body: () => resource('teams', { 'organization-access': { 'manage-workspaces': true } }),
    entries: ['update teams'],
  },
  { endpoint: 'DELETE /teams/:id', path: newTeam, entries: ['destroy teams'] },
  ...memberWrites,
  {
    endpoint: `POST ${MEMBERSHIPS}`,
    path: () => `${ORGANIZATION}/organization-memberships`,
    body: () => resource('organization-memberships', { email: `${uniqueName('invited')}@example.org` }),
    entries: ['create users', 'create organization-memberships'],
  },
  {
    endpoint: 'DELETE /organization-memberships/:id',
    path: async (fixture) => `/organization-memberships/${await newMembership(fixture)}`,
    entries: ['destroy organization-memberships'],
  },
  {
    endpoint: 'POST /organization-memberships/:id/actions/accept',
    path: async (fixture) => `/organization-memberships/${await newInvitation(fixture)}/actions/accept`,
    caller: 'outsider',
    entries: ['accept organization-memberships', 'destroy users'],
  },
  {
    endpoint: 'POST /organizations/:name/workspaces',
    path: () => `${ORGANIZATION}/workspaces`,
    body: () => resource('workspaces', { name: uniqueName('workspace') }),
    entries: ['create workspaces'],
  },
  ...(
    [
      ['/organizations/:name/workspaces/:workspace', newWorkspaceByName],
      ['/workspaces/:id', newWorkspaceById],
    ] as const
  ).flatMap(([at, path]): Write[] => [
    {
      endpoint: `PATCH ${at}`,
      path,
      body: () => resource('workspaces', { name: uniqueName('renamed') }),
      entries: ['update workspaces'],
    },
    { endpoint: `DELETE ${at}`, path, entries: ['destroy workspaces'] },
    {
      endpoint: `POST ${at}/actions/safe-delete`,
      path: async (fixture) => `${await path(fixture)}/actions/safe-delete`,
      entries: ['destroy workspaces'],
    },
  ]),
  ...tokenWrites,
  {
    endpoint: 'POST /admin/users/:id/actions/suspend',
    path: async () => `/admin/users/${(await makeUser(api, uniqueName('user'))).id}/actions/suspend`,
    caller: 'site-admin',
    entries: ['suspend users'],
    isUserWrite: true,
  },
  {
    endpoint: 'POST /admin/users/:id/actions/unsuspend',
    async path() {
      const { id } = await makeUser(api, uniqueName('user'));
      await request(api, api.adminToken, 'POST', `/admin/users/${id}/actions/suspend`);
      return `/admin/users/${id}/actions/unsuspend`;
    },
    caller: 'site-admin',
    entries: ['unsuspend users'],
    isUserWrite: true,
  },
  ...(['', '/:token'] as const).map(
    (rest): Write => ({
      endpoint: `DELETE /admin/users/:id/authentication-tokens${rest}`,
      async path({ tokens }) {
        const { id, token } = await makeUser(api, uniqueName('user'));
        const name = uniqueName('organization');
        await makeOrganization(api, token, name);
        const made = await request(api, token, 'POST', `/organizations/${name}/authentication-token`);
        assert.notEqual(tokens.owner, token);
        return `/admin/users/${id}/authentication-tokens${rest === '' ? '' : `/${documentOf(made).data.id}`}`;
      },
      caller: 'site-admin',
      entries: ['destroy authentication-tokens'],
    }),
  ),
  {
    endpoint: 'DELETE /admin/organizations/:name',
    async path() {
      const name = uniqueName('organization');
      await makeOrganization(api, api.adminToken, name);
      return `/admin/organizations/${name}`;
    },
    caller: 'site-admin',
    entries: ['destroy organizations'],
  },
  {
    endpoint: 'POST /admin/organizations/:name/actions/take-ownership',
    async path({ tokens }) {
      const name = uniqueName('organization');
      await makeOrganization(api, tokens.outsider ?? '', name);
      return `/admin/organizations/${name}/actions/take-ownership`;
    },
    caller: 'site-admin',
    entries: [
      'take-ownership organizations',
      'take-ownership users',
      'create organization-memberships',
      'create team-members',
    ],
  },
  {
    endpoint: 'POST /team-workspaces',
    path: () => '/team-workspaces',
    body: rowBody,
    entries: ['add_team team-workspaces'],
  },
  {
    endpoint: 'PATCH /team-workspaces/:id',
    path: newRow,
    body: () => resource('team-workspaces', { access: 'admin' }),
    entries: ['update_team_permissions team-workspaces'],
  },
  { endpoint: 'DELETE /team-workspaces/:id', path: newRow, entries: ['remove_team team-workspaces'] },
];

/** Bulk endpoints, which add one entry per change. See their own tests. */
const TESTED_ELSEWHERE = /^(POST \/operations|PUT \/workspaces\/:id\/team-access)$/;

let api: Api;
let fixture: OrganizationFixture;

before(async () => {
  api = await startApi();
  fixture = await createOrganizationFixture(api);
  const memberships = await request(
    api,
    fixture.tokens.owner,
    'GET',
    `${ORGANIZATION}/organization-memberships?q=member`,
  );
  memberId = documentOf<ResourceObject[]>(memberships).data[0]?.id ?? '';
});
after(() => api[Symbol.asyncDispose]());

test('`writes` contains exactly the endpoints that write', () => {
  const writing = api.server.endpoints
    .filter(({ method, path }) => method !== 'GET' && path.startsWith('/api/v2/'))
    .map(({ method, path }) => `${method} ${path.slice('/api/v2'.length)}`)
    .filter((endpoint) => !TESTED_ELSEWHERE.test(endpoint));
  assert.deepEqual(writes.map(({ endpoint }) => endpoint).toSorted(), writing.toSorted());
});

describe('audit entries with actor, request ID and address [SRV-87] [SRV-88] of', () => {
  const entriesAfter = async (id: string): Promise<DeepReadonly<AuditEntry>[]> => {
    const rows = await api.state.scan(auditLog, { from: `${id}~`, limit: 100 }, new AbortController().signal);
    return rows.map(({ row }) => row);
  };
  const newest = async (): Promise<string> => {
    const [last] = await api.state.scan(auditLog, { limit: 1, reverse: true }, new AbortController().signal);
    return last?.row.id ?? '';
  };

  for (const { endpoint, path, body, caller = 'owner', entries, isUserWrite = false } of writes) {
    test(endpoint, async () => {
      const at = await path(fixture);
      const sent = body === undefined ? {} : { body: await body(fixture) };
      const from = await newest();
      const answer = await request(api, fixture.tokens[caller], endpoint.split(' ')[0] ?? '', at, sent);
      assert.ok(answer.status < 300, answer.text);
      const found = await entriesAfter(from);
      assert.deepEqual(
        found.map(({ action, type }) => `${action} ${type}`),
        entries,
      );
      for (const entry of found) {
        const account = documentOf(await request(api, fixture.tokens[caller], 'GET', '/account/details')).data;
        assert.deepEqual([entry.actor, entry.requestId], [account.id, answer.headers['x-request-id']]);
        assert.match(entry.address, /127\.0\.0\.1/);
        assert.notDeepEqual(entry.before, entry.after);
        const ofUser = isUserWrite || (entry.type === 'users' && entry.action === 'take-ownership');
        assert.equal(entry.organizationId !== undefined, !ofUser);
        assert.doesNotMatch(JSON.stringify(entry), /secretHash|atlasv1/i);
      }
    });
  }
});
