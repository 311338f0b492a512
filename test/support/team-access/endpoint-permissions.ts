/**
 * The table of the endpoints of team access and the callers that each allows, for visible and hidden resources
 * [AUTHZ-84].
 */
import assert from 'node:assert/strict';
import { OPERATIONS_TYPE } from './operations.ts';
import {
  CALLERS,
  type CallerName,
  join,
  makeUser,
  type OrganizationFixture,
  UNAUTHENTICATED,
} from './organization-fixture.ts';
import { documentOf, makeOrganization, type ResourceObject, request, resource } from './team-access.ts';

/** A request to an endpoint, with the callers that may send it. */
export interface EndpointPermission {
  /** The method and the pattern of the path, without `/api/v2`. */
  readonly endpoint: string;
  /** The path, or a function that creates the resource and returns its path. */
  readonly path: string | ((fixture: OrganizationFixture) => string | Promise<string>);
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Distinguishes the entries of one endpoint. */
  readonly target?: string;
  /** All others get 404, or 401 if they are not authenticated. */
  readonly allowed: readonly CallerName[];
  /** The callers that get 403, because the request would give more than they have [AUTHZ-44]. */
  readonly refused?: readonly CallerName[];
  /** The status for allowed callers, 200 by default. */
  readonly status?: number;
}

const UNMATCHED_ETAG = { 'if-match': '"never"' };
const invalidBody = (type: string, attributes: Readonly<Record<string, unknown>> = { name: 1 }) =>
  resource(type, attributes);
const INVALID_TOKEN_BODY = resource('authentication-tokens', { 'expired-at': 'soon' });

const OWNERS: readonly CallerName[] = ['owner', 'owners-token', 'organization-token'];
const OWNERS_EXCEPT_ORGANIZATION_TOKEN: readonly CallerName[] = ['owner', 'owners-token'];
const MEMBERS: readonly CallerName[] = CALLERS.filter(
  (name) => !['outsider', 'site-admin', ...UNAUTHENTICATED].includes(name),
);
const AUTHENTICATED: readonly CallerName[] = CALLERS.filter((name) => !UNAUTHENTICATED.some((one) => one === name));
const USERS: readonly CallerName[] = AUTHENTICATED.filter((name) => !name.endsWith('-token'));
const SEE_SECRET_TEAM: readonly CallerName[] = [...OWNERS, 'insider', 'secret-viewer'];
const HAVE_ACCESS: readonly CallerName[] = [
  ...OWNERS,
  'workspaces-manager',
  'row-admin',
  'insider',
  'member',
  'team-token',
];
const CREATE_WORKSPACES: readonly CallerName[] = [...OWNERS, 'workspaces-manager'];
const ADMINS: readonly CallerName[] = [...CREATE_WORKSPACES, 'row-admin'];
const MANAGE_TEAMS: readonly CallerName[] = [...OWNERS, 'access-manager', 'teams-manager'];
const MANAGE_MEMBERS: readonly CallerName[] = [...MANAGE_TEAMS, 'members-manager'];
const MANAGE_VISIBLE_TEAM_TOKENS: readonly CallerName[] = [...OWNERS_EXCEPT_ORGANIZATION_TOKEN, 'member', 'team-token'];
const MANAGE_SECRET_TEAM_TOKENS: readonly CallerName[] = [...OWNERS_EXCEPT_ORGANIZATION_TOKEN, 'insider'];

const org = (rest = '') => `/organizations/acme${rest}`;
const memberships = '/organizations/:name/organization-memberships';
let createdCount = 0;
const newMember = async ({ api, tokens }: OrganizationFixture): Promise<string> => {
  createdCount += 1;
  const { username } = await makeUser(api, `new-${createdCount}`);
  return await join(api, tokens.owner ?? '', 'acme', username);
};
const newUser = async (api: OrganizationFixture['api']): Promise<string> => {
  createdCount += 1;
  return (await makeUser(api, `new-${createdCount}`)).id;
};
const newToken =
  (at: (fixture: OrganizationFixture) => string, by: CallerName) =>
  async (fixture: OrganizationFixture): Promise<string> => {
    createdCount += 1;
    const answer = await request(fixture.api, fixture.tokens[by], 'POST', at(fixture), {
      body: resource('authentication-tokens', { description: `d${createdCount}` }),
    });
    return `/authentication-tokens/${documentOf(answer).data.id}`;
  };
const withToken =
  (at: (fixture: OrganizationFixture) => string) =>
  async (fixture: OrganizationFixture): Promise<string> => {
    const description = await request(fixture.api, fixture.tokens.owner, 'POST', at(fixture));
    assert.equal(description.status, 201, description.text);
    return at(fixture);
  };

/** The grants of a team that the managers among the callers lack. They do not see a team that is `hidden`. */
type Excess = 'nothing' | 'a row' | 'a permission' | 'hidden';

const NO_OWNERS = (callers: readonly CallerName[]) => callers.filter((name) => !OWNERS.includes(name));

/** Returns the callers who may make a request, and those who get 403 because the team grants more than they have. */
function permittedBy(managers: readonly CallerName[], excess: Excess, refusing: readonly Excess[]) {
  if (excess === 'hidden') return { allowed: OWNERS };
  return refusing.includes(excess) ? { allowed: OWNERS, refused: NO_OWNERS(managers) } : { allowed: managers };
}

const teamRows: readonly EndpointPermission[] = (
  [
    ['visible', ({ visibleTeam }: OrganizationFixture) => visibleTeam, MEMBERS, 'a row'],
    ['without rows', ({ idleTeam }: OrganizationFixture) => idleTeam, MEMBERS, 'nothing'],
    ['secret', ({ secretTeam }: OrganizationFixture) => secretTeam, SEE_SECRET_TEAM, 'hidden'],
    ['stronger', ({ strongTeam }: OrganizationFixture) => strongTeam, MEMBERS, 'a permission'],
    ['owners', ({ ownersTeam }: OrganizationFixture) => ownersTeam, [...OWNERS, 'secret-viewer'], 'hidden'],
  ] as const
).flatMap(([target, team, seeing, excess]): EndpointPermission[] => [
  { endpoint: 'GET /teams/:id', target, path: (fixture) => `/teams/${team(fixture)}`, allowed: seeing },
  {
    endpoint: 'PATCH /teams/:id',
    target,
    path: (fixture) => `/teams/${team(fixture)}`,
    body: invalidBody('teams'),
    ...permittedBy(MANAGE_TEAMS, excess, ['a row', 'a permission']),
    status: 422,
  },
  {
    endpoint: 'DELETE /teams/:id',
    target,
    path: (fixture) => `/teams/${team(fixture)}`,
    headers: UNMATCHED_ETAG,
    ...permittedBy(MANAGE_TEAMS, excess, ['a row', 'a permission']),
    status: target === 'owners' ? 403 : 412,
  },
  ...(['POST', 'DELETE'] as const).flatMap((method) =>
    (['users', 'organization-memberships'] as const).map((by) => ({
      endpoint: `${method} /teams/:id/relationships/${by}`,
      target,
      path: (fixture: OrganizationFixture) => `/teams/${team(fixture)}/relationships/${by}`,
      body: { data: [] },
      ...permittedBy(MANAGE_MEMBERS, excess, method === 'POST' ? ['a row', 'a permission'] : ['a permission']),
      status: 204,
    })),
  ),
]);

const tokenRows: readonly EndpointPermission[] = (
  [
    ['visible', ({ visibleTeam }: OrganizationFixture) => visibleTeam, MANAGE_VISIBLE_TEAM_TOKENS],
    ['secret', ({ secretTeam }: OrganizationFixture) => secretTeam, MANAGE_SECRET_TEAM_TOKENS],
    ['stronger', ({ strongTeam }: OrganizationFixture) => strongTeam, OWNERS_EXCEPT_ORGANIZATION_TOKEN],
    ['owners', ({ ownersTeam }: OrganizationFixture) => ownersTeam, OWNERS_EXCEPT_ORGANIZATION_TOKEN],
  ] as const
).flatMap(([target, team, allowed]): EndpointPermission[] => {
  const plain = (fixture: OrganizationFixture): string => `/teams/${team(fixture)}/authentication-token`;
  const several = (fixture: OrganizationFixture): string => `${plain(fixture)}s`;
  const changing: EndpointPermission[] = [
    { endpoint: 'GET /teams/:id/authentication-token', path: withToken(plain), allowed },
    { endpoint: 'DELETE /teams/:id/authentication-token', path: withToken(plain), allowed, status: 204 },
  ];
  return [
    { endpoint: 'POST /teams/:id/authentication-token', path: plain, body: INVALID_TOKEN_BODY, allowed, status: 422 },
    {
      endpoint: 'POST /teams/:id/authentication-tokens',
      path: several,
      body: INVALID_TOKEN_BODY,
      allowed,
      status: 422,
    },
    { endpoint: 'GET /teams/:id/authentication-tokens', path: several, allowed },
    { endpoint: 'GET /authentication-tokens/:id', path: newToken(several, 'owner'), allowed },
    { endpoint: 'DELETE /authentication-tokens/:id', path: newToken(several, 'owner'), allowed, status: 204 },
    // Two callers use the tokens of these teams at this path, which a creation or deletion would revoke.
    ...(target === 'visible' || target === 'owners' ? [] : changing),
  ].map((row) => ({ ...row, target: `a token of a team that is ${target}` }));
});

/** Writes have an invalid body or an `If-Match` that does not match, so that they are rejected after authorization. */
export const ENDPOINT_PERMISSIONS: readonly EndpointPermission[] = [
  { endpoint: 'GET /account/details', path: '/account/details', allowed: AUTHENTICATED },
  {
    endpoint: 'GET /organization/audit-trail',
    path: '/organization/audit-trail?filter[organization]=acme',
    allowed: ['owner', 'organization-token'],
  },
  { endpoint: 'GET /admin/users', path: '/admin/users', allowed: ['site-admin'] },
  {
    endpoint: 'POST /admin/users',
    path: '/admin/users',
    body: invalidBody('users'),
    allowed: ['site-admin'],
    status: 422,
  },
  {
    endpoint: 'DELETE /admin/users/:id',
    path: ({ users }) => `/admin/users/${users.member?.id}`,
    headers: UNMATCHED_ETAG,
    allowed: ['site-admin'],
    status: 412,
  },
  ...(['suspend', 'unsuspend'] as const).map((action) => ({
    endpoint: `POST /admin/users/:id/actions/${action}`,
    // A user whose token no caller presents.
    path: async ({ api }: OrganizationFixture) => `/admin/users/${await newUser(api)}/actions/${action}`,
    allowed: ['site-admin'] as const,
  })),
  {
    endpoint: 'GET /admin/users/:id/authentication-tokens',
    path: ({ users }) => `/admin/users/${users.owner?.id}/authentication-tokens`,
    allowed: ['site-admin'],
  },
  {
    endpoint: 'DELETE /admin/users/:id/authentication-tokens',
    path: async ({ api }) => `/admin/users/${await newUser(api)}/authentication-tokens`,
    allowed: ['site-admin'],
    status: 204,
  },
  {
    endpoint: 'DELETE /admin/users/:id/authentication-tokens/:token',
    path: async (fixture) => {
      const created = await newToken(
        ({ visibleTeam }) => `/teams/${visibleTeam}/authentication-tokens`,
        'owner',
      )(fixture);
      return `/admin/users/${fixture.users.owner?.id}${created}`;
    },
    allowed: ['site-admin'],
    status: 204,
  },
  { endpoint: 'GET /admin/organizations', path: '/admin/organizations', allowed: ['site-admin'] },
  { endpoint: 'GET /admin/organizations/:name', path: '/admin/organizations/acme', allowed: ['site-admin'] },
  {
    endpoint: 'DELETE /admin/organizations/:name',
    path: '/admin/organizations/acme',
    headers: UNMATCHED_ETAG,
    allowed: ['site-admin'],
    status: 412,
  },
  {
    endpoint: 'POST /admin/organizations/:name/actions/take-ownership',
    path: async ({ api }) => {
      createdCount += 1;
      await makeOrganization(api, api.adminToken, `taken-${createdCount}`);
      return `/admin/organizations/taken-${createdCount}/actions/take-ownership`;
    },
    allowed: ['site-admin'],
  },
  {
    endpoint: 'GET /users/:id',
    path: ({ users }) => `/users/${users.member?.id}`,
    allowed: [...MEMBERS, 'site-admin'],
  },
  {
    endpoint: 'GET /users/:id',
    target: 'who is in no organization',
    path: ({ users }) => `/users/${users.outsider?.id}`,
    allowed: ['outsider', 'site-admin'],
  },
  { endpoint: 'GET /organizations', path: '/organizations', allowed: AUTHENTICATED },
  {
    endpoint: 'POST /organizations',
    path: '/organizations',
    body: invalidBody('organizations'),
    allowed: USERS,
    status: 422,
  },
  { endpoint: 'GET /organizations/:name', path: org(), allowed: MEMBERS },
  {
    endpoint: 'PATCH /organizations/:name',
    path: org(),
    body: invalidBody('organizations'),
    // A site administrator may change only the plan [AUTHZ-17].
    allowed: [...OWNERS, 'site-admin'],
    status: 422,
  },
  {
    endpoint: 'PATCH /organizations/:name',
    target: 'its settings',
    path: org(),
    body: resource('organizations', { 'cost-estimation-enabled': true }),
    headers: UNMATCHED_ETAG,
    allowed: OWNERS,
    status: 412,
  },
  {
    endpoint: 'PATCH /organizations/:name',
    target: 'its plan',
    path: org(),
    body: resource('organizations', { plan: 'free' }),
    headers: UNMATCHED_ETAG,
    allowed: ['site-admin'],
    status: 412,
  },
  { endpoint: 'DELETE /organizations/:name', path: org(), headers: UNMATCHED_ETAG, allowed: OWNERS, status: 412 },
  { endpoint: 'GET /organizations/:name/entitlement-set', path: org('/entitlement-set'), allowed: MEMBERS },
  { endpoint: 'GET /organizations/:name/projects', path: org('/projects'), allowed: MEMBERS },
  {
    endpoint: 'GET /projects/:id',
    async path({ api, tokens }) {
      const { relationships } = documentOf(await request(api, tokens.owner, 'GET', org())).data;
      const project = relationships['default-project']?.data as { readonly id: string } | undefined;
      return `/projects/${project?.id}`;
    },
    allowed: MEMBERS,
  },
  { endpoint: 'GET /organizations/:name/teams', path: org('/teams'), allowed: MEMBERS },
  {
    endpoint: 'POST /organizations/:name/teams',
    path: org('/teams'),
    body: invalidBody('teams'),
    allowed: MANAGE_TEAMS,
    status: 422,
  },
  {
    endpoint: 'POST /organizations/:name/teams',
    target: 'with a permission that only owners hold',
    path: org('/teams'),
    body: resource('teams', { name: 'secret', 'organization-access': { 'manage-policies': true } }),
    allowed: OWNERS,
    refused: NO_OWNERS(MANAGE_TEAMS),
    status: 422,
  },
  {
    endpoint: 'POST /organizations/:name/teams',
    target: 'with a permission that the access manager holds',
    path: org('/teams'),
    body: resource('teams', {
      name: 'secret',
      visibility: 'organization',
      'organization-access': { 'manage-membership': true },
    }),
    allowed: [...OWNERS, 'access-manager'],
    refused: ['teams-manager'],
    status: 422,
  },
  {
    endpoint: 'POST /organizations/:name/teams',
    target: 'that is secret',
    path: org('/teams'),
    body: resource('teams', { name: 'secret' }),
    allowed: OWNERS,
    refused: NO_OWNERS(MANAGE_TEAMS),
    status: 422,
  },
  ...teamRows,
  {
    endpoint: 'PATCH /teams/:id',
    target: 'giving a permission that only owners hold',
    path: ({ idleTeam }) => `/teams/${idleTeam}`,
    body: resource('teams', { 'organization-access': { 'manage-workspaces': true } }),
    headers: UNMATCHED_ETAG,
    allowed: OWNERS,
    refused: NO_OWNERS(MANAGE_TEAMS),
    status: 412,
  },
  { endpoint: `GET ${memberships}`, path: org('/organization-memberships'), allowed: MEMBERS },
  { endpoint: 'GET /organization-memberships', path: '/organization-memberships', allowed: USERS },
  {
    // invitations.test.ts tests the acceptance of invitations.
    endpoint: 'POST /organization-memberships/:id/actions/accept',
    path: async ({ api, tokens }) => {
      const own = await request(api, tokens.member ?? '', 'GET', '/organization-memberships');
      const [membership] = documentOf<ResourceObject[]>(own).data;
      return `/organization-memberships/${membership?.id}/actions/accept`;
    },
    allowed: ['member'],
  },
  {
    endpoint: `POST ${memberships}`,
    path: org('/organization-memberships'),
    body: invalidBody('organization-memberships', { email: 1 }),
    allowed: MANAGE_MEMBERS,
    status: 422,
  },
  {
    endpoint: 'GET /organization-memberships/:id',
    path: async (fixture) => `/organization-memberships/${await newMember(fixture)}`,
    allowed: MEMBERS,
  },
  {
    endpoint: 'DELETE /organization-memberships/:id',
    path: async (fixture) => `/organization-memberships/${await newMember(fixture)}`,
    allowed: MANAGE_MEMBERS,
    status: 204,
  },
  { endpoint: 'GET /organizations/:name/workspaces', path: org('/workspaces'), allowed: MEMBERS },
  {
    endpoint: 'POST /organizations/:name/workspaces',
    path: org('/workspaces'),
    body: invalidBody('workspaces'),
    allowed: CREATE_WORKSPACES,
    status: 422,
  },
  ...(
    [
      ['/organizations/:name/workspaces/:workspace', () => org('/workspaces/production')],
      ['/workspaces/:id', ({ workspace }: OrganizationFixture) => `/workspaces/${workspace}`],
    ] as const
  ).flatMap(([at, path]): EndpointPermission[] => [
    { endpoint: `GET ${at}`, path, allowed: HAVE_ACCESS },
    { endpoint: `PATCH ${at}`, path, body: invalidBody('workspaces'), allowed: ADMINS, status: 422 },
    { endpoint: `DELETE ${at}`, path, headers: UNMATCHED_ETAG, allowed: ADMINS, status: 412 },
    {
      endpoint: `POST ${at}/actions/safe-delete`,
      path: (fixture) => `${path(fixture)}/actions/safe-delete`,
      headers: UNMATCHED_ETAG,
      allowed: ADMINS,
      status: 412,
    },
  ]),
  ...(['POST', 'GET', 'DELETE'] as const).map((method) => ({
    endpoint: `${method} /organizations/:name/authentication-token`,
    path: org('/authentication-token'),
    ...(method === 'POST' && { body: INVALID_TOKEN_BODY }),
    ...(method === 'DELETE' && { path: withToken(() => '/organizations/beta/authentication-token') }),
    // The organization's token is one of the callers, so the deletion uses another organization.
    allowed: method === 'DELETE' ? (['owner'] as const) : OWNERS_EXCEPT_ORGANIZATION_TOKEN,
    status: { POST: 422, GET: 200, DELETE: 204 }[method],
  })),
  {
    endpoint: 'PUT /workspaces/:id/team-access',
    path: ({ workspace }) => `/workspaces/${workspace}/team-access`,
    body: { data: [] },
    headers: UNMATCHED_ETAG,
    allowed: ADMINS,
    status: 412,
  },
  {
    // operations-authorization.test.ts tests the authorization of single operations.
    endpoint: 'POST /operations',
    path: '/operations',
    body: { 'atomic:operations': [] },
    headers: { 'content-type': OPERATIONS_TYPE },
    allowed: AUTHENTICATED,
  },
  { endpoint: 'GET /organizations/:name/team-tokens', path: org('/team-tokens'), allowed: MEMBERS },
  ...tokenRows,
  {
    endpoint: 'POST /users/:id/authentication-tokens',
    path: ({ users }) => `/users/${users.member?.id}/authentication-tokens`,
    body: INVALID_TOKEN_BODY,
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
    target: 'a token of a user',
    path: newToken(({ users }) => `/users/${users.member?.id}/authentication-tokens`, 'member'),
    allowed: ['member'] as const,
    ...(method === 'DELETE' && { status: 204 }),
  })),
];

/** Returns the authenticated callers that cannot see the resource of the path. */
export function callersWithoutVisibility({
  endpoint,
  target = '',
  allowed,
}: EndpointPermission): readonly CallerName[] {
  const allExcept = (callers: readonly CallerName[]) => AUTHENTICATED.filter((name) => !callers.includes(name));
  const path = endpoint.split(' ')[1] ?? '';
  if (path.includes('workspaces/:')) return allExcept(HAVE_ACCESS);
  if (path.startsWith('/teams/:id') && /(^|is )secret$/.test(target)) return allExcept(SEE_SECRET_TEAM);
  if (path.startsWith('/teams/:id') && /(^|is )owners$/.test(target)) return allExcept([...OWNERS, 'secret-viewer']);
  if (path.startsWith('/authentication-tokens/') || path.includes('/users/') || path.startsWith('/admin/'))
    return allExcept(allowed);
  // A site administrator may change the plan of any organization.
  if (endpoint === 'PATCH /organizations/:name') return ['outsider'];
  return ['outsider', 'site-admin'];
}
