/**
 * Every write of team access is in the audit log: who, when, from where, before and after. Each one is made here with
 * success; an endpoint that writes and stands in no row fails the first test, and one that leaves no entry its own.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type AuditEntry, auditLog } from '../../src/audit/record.ts';
import type { DeepReadonly } from '../../src/state/table.ts';
import { type Api, startApi } from '../support/process/api.ts';
import { makeOrganization, request, resource, type Shown, shown, to } from '../support/team-access/team-access.ts';
import {
  type CallerName,
  join,
  makeTeam,
  makeUser,
  makeWorld,
  type World,
} from '../support/team-access/team-access-world.ts';

interface Write {
  /** As the server has it: method and path with `:name`, without `/api/v2`. */
  readonly endpoint: string;
  /** Where it is sent, after what it needs was made. */
  readonly path: (world: World) => string | Promise<string>;
  readonly body?: (world: World) => unknown;
  /** Who writes, if not the owner. */
  readonly by?: CallerName;
  /** What the entries of it are, in order: action and type. */
  readonly entries: readonly string[];
  /** It belongs to a user, and to no organization. */
  readonly ofUser?: true;
}

const ORGANIZATION = '/organizations/acme';
const MEMBERSHIPS = '/organizations/:name/organization-memberships';
const TOKEN = resource('authentication-tokens', { description: 'one' });

let made = 0;
const fresh = (what: string): string => {
  made += 1;
  return `${what}-${made}`;
};
const ownerOf = ({ tokens }: World): string => tokens.owner ?? '';
const newTeam = async (world: World): Promise<string> => {
  const { id } = await makeTeam(world.api, ownerOf(world), 'acme', { name: fresh('team') });
  return `/teams/${id}`;
};
const post = async (world: World, path: string, body?: unknown): Promise<Shown> =>
  shown(await request(world.api, ownerOf(world), 'POST', path, { body })).data;
const newWorkspace = async (world: World): Promise<Shown> =>
  await post(world, `${ORGANIZATION}/workspaces`, resource('workspaces', { name: fresh('workspace') }));
const byName = async (world: World): Promise<string> =>
  `${ORGANIZATION}/workspaces/${(await newWorkspace(world)).attributes['name']}`;
const byId = async (world: World): Promise<string> => `/workspaces/${(await newWorkspace(world)).id}`;
const newMembership = async ({ api, tokens }: World): Promise<string> => {
  const { username } = await makeUser(api, fresh('user'));
  return await join(api, tokens.owner ?? '', 'acme', username);
};
const newRow = async (world: World): Promise<string> => {
  const { id } = await post(world, '/team-workspaces', await rowOf(world));
  return `/team-workspaces/${id}`;
};
const rowOf = async (world: World) => {
  const { id } = await newWorkspace(world);
  const related = { team: to('teams', world.visibleTeam), workspace: to('workspaces', id) };
  return resource('team-workspaces', { access: 'read' }, related);
};
const newOrganization = async (world: World): Promise<string> => {
  const { id } = await makeOrganization(world.api, ownerOf(world), fresh('organization'));
  return `/organizations/${id}`;
};
/** With a token at that plain path below what is made. */
const withToken = (make: (world: World) => Promise<string>) => async (world: World) => {
  const path = `${await make(world)}/authentication-token`;
  await post(world, path);
  return path;
};

const memberWrites = (['users', 'organization-memberships'] as const).flatMap((by): Write[] => {
  const endpoint = `/teams/:id/relationships/${by}`;
  const body = ({ users }: World) => ({ data: [{ type: by, id: by === 'users' ? users.member?.username : memberId }] });
  const path = async (world: World) => `${await newTeam(world)}/relationships/${by}`;
  return [
    { endpoint: `POST ${endpoint}`, path, body, entries: ['create team-members'] },
    {
      endpoint: `DELETE ${endpoint}`,
      async path(world) {
        const at = await path(world);
        await request(world.api, world.tokens.owner, 'POST', at, { body: body(world) });
        return at;
      },
      body,
      entries: ['destroy team-members'],
    },
  ];
});
/** The membership of the world's member. */
let memberId = '';

const tokenWrites: readonly Write[] = [
  {
    endpoint: 'POST /organizations/:name/authentication-token',
    path: async (world) => `${await newOrganization(world)}/authentication-token`,
    entries: ['create authentication-tokens'],
  },
  {
    endpoint: 'DELETE /organizations/:name/authentication-token',
    path: withToken(newOrganization),
    entries: ['destroy authentication-tokens'],
  },
  {
    endpoint: 'POST /teams/:id/authentication-token',
    // The one before is revoked.
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
    path: async (world) => `${await newTeam(world)}/authentication-tokens`,
    body: () => TOKEN,
    entries: ['create authentication-tokens'],
  },
  {
    endpoint: 'POST /users/:id/authentication-tokens',
    path: ({ users }) => `/users/${users.owner?.id}/authentication-tokens`,
    body: () => TOKEN,
    entries: ['create authentication-tokens'],
    ofUser: true,
  },
  {
    endpoint: 'DELETE /authentication-tokens/:id',
    path: async (world) =>
      `/authentication-tokens/${(await post(world, `${await newTeam(world)}/authentication-tokens`, TOKEN)).id}`,
    entries: ['destroy authentication-tokens'],
  },
];

const writes: readonly Write[] = [
  {
    endpoint: 'POST /admin/users',
    path: () => '/admin/users',
    body: () => resource('users', { username: fresh('user'), email: `${fresh('user')}@example.org` }),
    by: 'site-admin',
    entries: ['create users', 'create authentication-tokens'],
    ofUser: true,
  },
  {
    endpoint: 'DELETE /admin/users/:id',
    path: async ({ api }) => `/admin/users/${(await makeUser(api, fresh('user'))).id}`,
    by: 'site-admin',
    entries: ['destroy users'],
    ofUser: true,
  },
  {
    endpoint: 'POST /organizations',
    path: () => '/organizations',
    body: () => resource('organizations', { name: fresh('organization'), email: 'o@example.org' }),
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
    body: () => resource('teams', { name: fresh('team') }),
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
    body: () => resource('organization-memberships', { email: `${fresh('invited')}@example.org` }),
    entries: ['create users', 'create organization-memberships'],
  },
  {
    endpoint: 'DELETE /organization-memberships/:id',
    path: async (world) => `/organization-memberships/${await newMembership(world)}`,
    entries: ['destroy organization-memberships'],
  },
  {
    endpoint: 'POST /organizations/:name/workspaces',
    path: () => `${ORGANIZATION}/workspaces`,
    body: () => resource('workspaces', { name: fresh('workspace') }),
    entries: ['create workspaces'],
  },
  ...(
    [
      ['/organizations/:name/workspaces/:workspace', byName],
      ['/workspaces/:id', byId],
    ] as const
  ).flatMap(([at, path]): Write[] => [
    {
      endpoint: `PATCH ${at}`,
      path,
      body: () => resource('workspaces', { name: fresh('renamed') }),
      entries: ['update workspaces'],
    },
    { endpoint: `DELETE ${at}`, path, entries: ['destroy workspaces'] },
    {
      endpoint: `POST ${at}/actions/safe-delete`,
      path: async (world) => `${await path(world)}/actions/safe-delete`,
      entries: ['destroy workspaces'],
    },
  ]),
  ...tokenWrites,
  {
    endpoint: 'POST /team-workspaces',
    path: () => '/team-workspaces',
    body: rowOf,
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

/** Endpoints that make many changes at once, each with its entry: see their own tests. */
const ELSEWHERE = /^(POST \/operations|PUT \/workspaces\/:id\/team-access)$/;

let api: Api;
let world: World;

before(async () => {
  api = await startApi();
  world = await makeWorld(api);
  const memberships = await request(
    api,
    world.tokens.owner,
    'GET',
    `${ORGANIZATION}/organization-memberships?q=member`,
  );
  memberId = shown<Shown[]>(memberships).data[0]?.id ?? '';
});
after(() => api[Symbol.asyncDispose]());

test('every endpoint that writes has a row', () => {
  const writing = api.server.endpoints
    .filter(({ method, path }) => method !== 'GET' && path.startsWith('/api/v2/'))
    .map(({ method, path }) => `${method} ${path.slice('/api/v2'.length)}`)
    .filter((endpoint) => !ELSEWHERE.test(endpoint));
  assert.deepEqual(writes.map(({ endpoint }) => endpoint).toSorted(), writing.toSorted());
});

describe('is in the audit log, with who did it and from where:', () => {
  const entriesAfter = async (id: string): Promise<DeepReadonly<AuditEntry>[]> => {
    const rows = await api.state.scan(auditLog, { from: `${id}~`, limit: 100 }, new AbortController().signal);
    return rows.map(({ row }) => row);
  };
  const newest = async (): Promise<string> => {
    const [last] = await api.state.scan(auditLog, { limit: 1, reverse: true }, new AbortController().signal);
    return last?.row.id ?? '';
  };

  for (const { endpoint, path, body, by = 'owner', entries, ofUser = false } of writes) {
    test(endpoint, async () => {
      const at = await path(world);
      const sent = body === undefined ? {} : { body: await body(world) };
      const from = await newest();
      const answer = await request(api, world.tokens[by], endpoint.split(' ')[0] ?? '', at, sent);
      assert.ok(answer.status < 300, answer.text);
      const found = await entriesAfter(from);
      assert.deepEqual(
        found.map(({ action, type }) => `${action} ${type}`),
        entries,
      );
      for (const entry of found) {
        const account = shown(await request(api, world.tokens[by], 'GET', '/account/details')).data;
        assert.deepEqual([entry.actor, entry.requestId], [account.id, answer.headers['x-request-id']]);
        assert.match(entry.address, /127\.0\.0\.1/);
        assert.notDeepEqual(entry.before, entry.after);
        assert.equal(entry.organizationId !== undefined, !ofUser);
        assert.doesNotMatch(JSON.stringify(entry), /secretHash|atlasv1/i);
      }
    });
  }
});
