/** Every endpoint of team access with who may call it, on what everybody may see and on what is secret. */
import assert from 'node:assert/strict';
import { OPERATIONS_TYPE } from './operations.ts';
import { request, resource, shown } from './team-access.ts';
import { CALLERS, type CallerName, join, makeUser, NOBODIES, type World } from './team-access-world.ts';

export interface Row {
  /** As the server has it: method and path with `:name`, without `/api/v2`. */
  readonly endpoint: string;
  /** The path that is asked, or what makes the thing that it names first. */
  readonly path: string | ((world: World) => string | Promise<string>);
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** What tells rows of one endpoint apart. */
  readonly on?: string;
  /** Who may; all others get the one 404, or 401. */
  readonly allowed: readonly CallerName[];
  /** What they get; 200 unless given. */
  readonly status?: number;
}

const NEVER = { 'if-match': '"never"' };
const bad = (type: string, attributes: Readonly<Record<string, unknown>> = { name: 1 }) => resource(type, attributes);
const BAD_TIME = resource('authentication-tokens', { 'expired-at': 'soon' });

const OWNERS: readonly CallerName[] = ['owner', 'owners-token', 'organization-token'];
const OWNERS_IN_PERSON: readonly CallerName[] = ['owner', 'owners-token'];
const MEMBERS: readonly CallerName[] = CALLERS.filter(
  (name) => !['outsider', 'site-admin', ...NOBODIES].includes(name),
);
const ANYBODY: readonly CallerName[] = CALLERS.filter((name) => !NOBODIES.some((one) => one === name));
const USERS: readonly CallerName[] = ANYBODY.filter((name) => !name.endsWith('-token'));
const SEES_SECRET: readonly CallerName[] = [...OWNERS, 'insider', 'secret-viewer'];
const HAS_ACCESS: readonly CallerName[] = [
  ...OWNERS,
  'workspaces-manager',
  'row-admin',
  'insider',
  'member',
  'team-token',
];
const MAKES_WORKSPACES: readonly CallerName[] = [...OWNERS, 'workspaces-manager'];
const ADMINS: readonly CallerName[] = [...MAKES_WORKSPACES, 'row-admin'];
const MANAGES_TEAMS: readonly CallerName[] = [...OWNERS, 'access-manager', 'teams-manager'];
const MANAGES_MEMBERS: readonly CallerName[] = [...MANAGES_TEAMS, 'members-manager'];
const VISIBLE_TOKENS: readonly CallerName[] = [...OWNERS_IN_PERSON, 'member', 'team-token'];
const SECRET_TOKENS: readonly CallerName[] = [...OWNERS_IN_PERSON, 'insider'];

const org = (rest = '') => `/organizations/acme${rest}`;
const memberships = '/organizations/:name/organization-memberships';
let made = 0;
const newMember = async ({ api, tokens }: World): Promise<string> => {
  made += 1;
  const { username } = await makeUser(api, `new-${made}`);
  return await join(api, tokens.owner ?? '', 'acme', username);
};
const newToken =
  (at: (world: World) => string, by: CallerName) =>
  async (world: World): Promise<string> => {
    made += 1;
    const answer = await request(world.api, world.tokens[by], 'POST', at(world), {
      body: resource('authentication-tokens', { description: `d${made}` }),
    });
    return `/authentication-tokens/${shown(answer).data.id}`;
  };
const plainAt =
  (at: (world: World) => string) =>
  async (world: World): Promise<string> => {
    const description = await request(world.api, world.tokens.owner, 'POST', at(world));
    assert.equal(description.status, 201, description.text);
    return at(world);
  };

const teamRows: readonly Row[] = (
  [
    ['visible', ({ visibleTeam }: World) => visibleTeam, MEMBERS, MANAGES_TEAMS, MANAGES_MEMBERS],
    ['secret', ({ secretTeam }: World) => secretTeam, SEES_SECRET, OWNERS, OWNERS],
    ['stronger', ({ strongTeam }: World) => strongTeam, MEMBERS, OWNERS, OWNERS],
    ['owners', ({ ownersTeam }: World) => ownersTeam, [...OWNERS, 'secret-viewer'], OWNERS, OWNERS],
  ] as const
).flatMap(([on, team, seeing, changing, joining]): Row[] => [
  { endpoint: 'GET /teams/:id', on, path: (world) => `/teams/${team(world)}`, allowed: seeing },
  {
    endpoint: 'PATCH /teams/:id',
    on,
    path: (world) => `/teams/${team(world)}`,
    body: bad('teams'),
    allowed: changing,
    status: 422,
  },
  {
    endpoint: 'DELETE /teams/:id',
    on,
    path: (world) => `/teams/${team(world)}`,
    headers: NEVER,
    allowed: changing,
    status: on === 'owners' ? 403 : 412,
  },
  ...(['POST', 'DELETE'] as const).flatMap((method) =>
    (['users', 'organization-memberships'] as const).map((by) => ({
      endpoint: `${method} /teams/:id/relationships/${by}`,
      on,
      path: (world: World) => `/teams/${team(world)}/relationships/${by}`,
      body: { data: [] },
      allowed: joining,
      status: 204,
    })),
  ),
]);

const tokenRows: readonly Row[] = (
  [
    ['visible', ({ visibleTeam }: World) => visibleTeam, VISIBLE_TOKENS],
    ['secret', ({ secretTeam }: World) => secretTeam, SECRET_TOKENS],
    ['stronger', ({ strongTeam }: World) => strongTeam, OWNERS_IN_PERSON],
    ['owners', ({ ownersTeam }: World) => ownersTeam, OWNERS_IN_PERSON],
  ] as const
).flatMap(([on, team, allowed]): Row[] => {
  const plain = (world: World): string => `/teams/${team(world)}/authentication-token`;
  const several = (world: World): string => `${plain(world)}s`;
  const changing: Row[] = [
    { endpoint: 'GET /teams/:id/authentication-token', path: plainAt(plain), allowed },
    { endpoint: 'DELETE /teams/:id/authentication-token', path: plainAt(plain), allowed, status: 204 },
  ];
  return [
    { endpoint: 'POST /teams/:id/authentication-token', path: plain, body: BAD_TIME, allowed, status: 422 },
    { endpoint: 'POST /teams/:id/authentication-tokens', path: several, body: BAD_TIME, allowed, status: 422 },
    { endpoint: 'GET /teams/:id/authentication-tokens', path: several, allowed },
    { endpoint: 'GET /authentication-tokens/:id', path: newToken(several, 'owner'), allowed },
    { endpoint: 'DELETE /authentication-tokens/:id', path: newToken(several, 'owner'), allowed, status: 204 },
    // The tokens of these two callers are the plain ones of these teams: a new one would end them.
    ...(on === 'visible' || on === 'owners' ? [] : changing),
  ].map((row) => ({ ...row, on: `a token of a team that is ${on}` }));
});

/** Writes are asked with something that is refused after the right to make them was checked: nothing changes. */
export const rows: readonly Row[] = [
  { endpoint: 'GET /account/details', path: '/account/details', allowed: ANYBODY },
  {
    endpoint: 'GET /organization/audit-trail',
    path: '/organization/audit-trail?filter[organization]=acme',
    allowed: ['owner', 'organization-token'],
  },
  { endpoint: 'GET /admin/users', path: '/admin/users', allowed: ['site-admin'] },
  { endpoint: 'POST /admin/users', path: '/admin/users', body: bad('users'), allowed: ['site-admin'], status: 422 },
  {
    endpoint: 'DELETE /admin/users/:id',
    path: ({ users }) => `/admin/users/${users.member?.id}`,
    headers: NEVER,
    allowed: ['site-admin'],
    status: 412,
  },
  {
    endpoint: 'GET /users/:id',
    path: ({ users }) => `/users/${users.member?.id}`,
    allowed: [...MEMBERS, 'site-admin'],
  },
  {
    endpoint: 'GET /users/:id',
    on: 'who is in no organization',
    path: ({ users }) => `/users/${users.outsider?.id}`,
    allowed: ['outsider', 'site-admin'],
  },
  { endpoint: 'GET /organizations', path: '/organizations', allowed: ANYBODY },
  { endpoint: 'POST /organizations', path: '/organizations', body: bad('organizations'), allowed: USERS, status: 422 },
  { endpoint: 'GET /organizations/:name', path: org(), allowed: MEMBERS },
  {
    endpoint: 'PATCH /organizations/:name',
    path: org(),
    body: bad('organizations'),
    // They change the plan, and nothing else.
    allowed: [...OWNERS, 'site-admin'],
    status: 422,
  },
  {
    endpoint: 'PATCH /organizations/:name',
    on: 'its settings',
    path: org(),
    body: resource('organizations', { 'session-timeout': 1 }),
    headers: NEVER,
    allowed: OWNERS,
    status: 412,
  },
  {
    endpoint: 'PATCH /organizations/:name',
    on: 'its plan',
    path: org(),
    body: resource('organizations', { plan: 'free' }),
    headers: NEVER,
    allowed: ['site-admin'],
    status: 412,
  },
  { endpoint: 'DELETE /organizations/:name', path: org(), headers: NEVER, allowed: OWNERS, status: 412 },
  { endpoint: 'GET /organizations/:name/entitlement-set', path: org('/entitlement-set'), allowed: MEMBERS },
  { endpoint: 'GET /organizations/:name/projects', path: org('/projects'), allowed: MEMBERS },
  {
    endpoint: 'GET /projects/:id',
    async path({ api, tokens }) {
      const { relationships } = shown(await request(api, tokens.owner, 'GET', org())).data;
      const project = relationships['default-project']?.data as { readonly id: string } | undefined;
      return `/projects/${project?.id}`;
    },
    allowed: MEMBERS,
  },
  { endpoint: 'GET /organizations/:name/teams', path: org('/teams'), allowed: MEMBERS },
  {
    endpoint: 'POST /organizations/:name/teams',
    path: org('/teams'),
    body: bad('teams'),
    allowed: MANAGES_TEAMS,
    status: 422,
  },
  {
    endpoint: 'POST /organizations/:name/teams',
    on: 'with what only owners hold',
    path: org('/teams'),
    body: resource('teams', { name: 'secret', 'organization-access': { 'manage-policies': true } }),
    allowed: OWNERS,
    status: 422,
  },
  {
    endpoint: 'POST /organizations/:name/teams',
    on: 'with what the access manager holds',
    path: org('/teams'),
    body: resource('teams', { name: 'secret', 'organization-access': { 'manage-membership': true } }),
    allowed: [...OWNERS, 'access-manager'],
    status: 422,
  },
  ...teamRows,
  {
    endpoint: 'PATCH /teams/:id',
    on: 'giving what only owners hold',
    path: ({ visibleTeam }) => `/teams/${visibleTeam}`,
    body: resource('teams', { 'organization-access': { 'manage-workspaces': true } }),
    headers: NEVER,
    allowed: OWNERS,
    status: 412,
  },
  { endpoint: `GET ${memberships}`, path: org('/organization-memberships'), allowed: MEMBERS },
  {
    endpoint: `POST ${memberships}`,
    path: org('/organization-memberships'),
    body: bad('organization-memberships', { email: 1 }),
    allowed: MANAGES_MEMBERS,
    status: 422,
  },
  {
    endpoint: 'GET /organization-memberships/:id',
    path: async (world) => `/organization-memberships/${await newMember(world)}`,
    allowed: MEMBERS,
  },
  {
    endpoint: 'DELETE /organization-memberships/:id',
    path: async (world) => `/organization-memberships/${await newMember(world)}`,
    allowed: MANAGES_MEMBERS,
    status: 204,
  },
  { endpoint: 'GET /organizations/:name/workspaces', path: org('/workspaces'), allowed: MEMBERS },
  {
    endpoint: 'POST /organizations/:name/workspaces',
    path: org('/workspaces'),
    body: bad('workspaces'),
    allowed: MAKES_WORKSPACES,
    status: 422,
  },
  ...(
    [
      ['/organizations/:name/workspaces/:workspace', () => org('/workspaces/production')],
      ['/workspaces/:id', ({ workspace }: World) => `/workspaces/${workspace}`],
    ] as const
  ).flatMap(([at, path]): Row[] => [
    { endpoint: `GET ${at}`, path, allowed: HAS_ACCESS },
    { endpoint: `PATCH ${at}`, path, body: bad('workspaces'), allowed: ADMINS, status: 422 },
    { endpoint: `DELETE ${at}`, path, headers: NEVER, allowed: ADMINS, status: 412 },
    {
      endpoint: `POST ${at}/actions/safe-delete`,
      path: (world) => `${path(world)}/actions/safe-delete`,
      headers: NEVER,
      allowed: ADMINS,
      status: 412,
    },
  ]),
  ...(['POST', 'GET', 'DELETE'] as const).map((method) => ({
    endpoint: `${method} /organizations/:name/authentication-token`,
    path: org('/authentication-token'),
    ...(method === 'POST' && { body: BAD_TIME }),
    ...(method === 'DELETE' && { path: plainAt(() => '/organizations/beta/authentication-token') }),
    // The token of the organization is a caller here: another organization's is revoked instead.
    allowed: method === 'DELETE' ? (['owner'] as const) : OWNERS_IN_PERSON,
    status: { POST: 422, GET: 200, DELETE: 204 }[method],
  })),
  {
    endpoint: 'PUT /workspaces/:id/team-access',
    path: ({ workspace }) => `/workspaces/${workspace}/team-access`,
    body: { data: [] },
    headers: NEVER,
    allowed: ADMINS,
    status: 412,
  },
  {
    // What each may do with them is held against the single endpoints: operations-authorization.test.ts.
    endpoint: 'POST /operations',
    path: '/operations',
    body: { 'atomic:operations': [] },
    headers: { 'content-type': OPERATIONS_TYPE },
    allowed: ANYBODY,
  },
  { endpoint: 'GET /organizations/:name/team-tokens', path: org('/team-tokens'), allowed: MEMBERS },
  ...tokenRows,
  {
    endpoint: 'POST /users/:id/authentication-tokens',
    path: ({ users }) => `/users/${users.member?.id}/authentication-tokens`,
    body: BAD_TIME,
    allowed: ['member'],
    status: 422,
  },
  {
    endpoint: 'GET /users/:id/authentication-tokens',
    path: ({ users }) => `/users/${users.member?.id}/authentication-tokens`,
    allowed: ['member'],
  },
  ...(['GET', 'DELETE'] as const).map((method) => ({
    endpoint: `${method} /authentication-tokens/:id`,
    on: 'a token of a user',
    path: newToken(({ users }) => `/users/${users.member?.id}/authentication-tokens`, 'member'),
    allowed: ['member'] as const,
    ...(method === 'DELETE' && { status: 204 }),
  })),
];

/** To whom the thing that the path of a row names does not exist, whatever they may do with what they see. */
export function unknownTo({ endpoint, on = '', allowed }: Row): readonly CallerName[] {
  const others = (knowing: readonly CallerName[]) => ANYBODY.filter((name) => !knowing.includes(name));
  const path = endpoint.split(' ')[1] ?? '';
  if (path.includes('workspaces/:')) return others(HAS_ACCESS);
  if (path.startsWith('/teams/:id') && /(^|is )secret$/.test(on)) return others(SEES_SECRET);
  if (path.startsWith('/teams/:id') && /(^|is )owners$/.test(on)) return others([...OWNERS, 'secret-viewer']);
  if (path.startsWith('/authentication-tokens/') || path.includes('/users/')) return others(allowed);
  // They change the plan of any organization.
  if (endpoint === 'PATCH /organizations/:name') return ['outsider'];
  return ['outsider', 'site-admin'];
}
