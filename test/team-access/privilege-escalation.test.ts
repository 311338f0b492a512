/**
 * Privilege escalation: for each organization permission, a member of a team with it attempts every action that the
 * permission does not grant, and every request that might reveal a secret team. Each attempt gets the 404 of a missing
 * resource [AUTHZ-12] [AUTHZ-40], or 403 with the reason if only the extent of the attempt is forbidden [AUTHZ-44].
 */
import assert from 'node:assert/strict';
import { before, describe, test } from 'node:test';
import {
  ORGANIZATION_PERMISSIONS,
  type OrganizationPermission,
  withImplied,
} from '../../src/team-access/tables/organization-access.ts';
import { sharedApi } from '../support/process/api.ts';
import type { Answer } from '../support/process/server.ts';
import {
  addToTeam,
  createOrganizationFixture,
  join,
  makeTeam,
  makeUser,
  type OrganizationFixture,
} from '../support/team-access/organization-fixture.ts';
import { rowBody } from '../support/team-access/organizations.ts';
import {
  documentOf,
  NOT_FOUND,
  type ResourceObject,
  request,
  resource,
  statusAndText,
} from '../support/team-access/team-access.ts';

/** Occurs nowhere else in a response. */
const SECRET_TEAM_NAME = 'zebra-crossing';
const SECRET_TEAM_WITHOUT_ROW = { name: 'tiger-lily', 'organization-access': { 'read-workspaces': true } };
const ACME = '/organizations/acme';

/** The attacking member and the resources under attack. */
interface AttackScene {
  readonly fixture: OrganizationFixture;
  readonly holder: { readonly id: string; readonly username: string; readonly membership: string };
  /** The team with the permission, whose member the holder is. */
  readonly ownTeam: string;
  /** Another team, with a row on the workspace and a token. */
  readonly secretTeam: string;
  readonly secretTeamRow: string;
  /** Another secret team, with the permission `read-workspaces` but without a row on the workspace. */
  readonly secretTeamWithoutRow: string;
  readonly secretTeamToken: string;
  /** The ID of a user token of the owner. */
  readonly ownerToken: string;
  readonly ownerMembership: string;
}

interface Attempt {
  readonly description: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: (scene: AttackScene) => string;
  readonly body?: (scene: AttackScene) => unknown;
  /** The organization permission that allows the attempt. Absent if no permission allows it. */
  readonly permittedBy?: OrganizationPermission;
  /** The organization permission whose holders get 403, because the attempt exceeds what they have. */
  readonly refusedWith?: OrganizationPermission;
}

const holderIdentifier = (by: 'users' | 'organization-memberships') => (scene: AttackScene) => ({
  data: [{ type: by, id: by === 'users' ? scene.holder.username : scene.holder.membership }],
});
const invitationTo = (team: (scene: AttackScene) => string) => (scene: AttackScene) =>
  resource(
    'organization-memberships',
    { email: 'friend@example.org' },
    { teams: { data: [{ type: 'teams', id: team(scene) }] } },
  );
const PROTECTED_TEAMS: readonly (readonly [string, (scene: AttackScene) => string, 'seen'?])[] = [
  ['owners', ({ fixture }) => fixture.ownersTeam],
  ['a stronger team', ({ fixture }) => fixture.strongTeam, 'seen'],
  ['a secret team', ({ secretTeam }) => secretTeam],
];
const refusedWith = (permission: OrganizationPermission, seen: 'seen' | undefined) =>
  seen === undefined ? {} : { refusedWith: permission };

const teamAttempts: readonly Attempt[] = PROTECTED_TEAMS.flatMap(([of, team, seen]): Attempt[] => [
  ...(['users', 'organization-memberships'] as const).flatMap((by): Attempt[] =>
    (['POST', 'DELETE'] as const).map((method) => ({
      description: `${method === 'POST' ? 'joins' : 'removes a member of'} ${of}, by ${by}`,
      method,
      path: (scene) => `/teams/${team(scene)}/relationships/${by}`,
      body: holderIdentifier(by),
      ...refusedWith('manage-membership', seen),
    })),
  ),
  {
    description: `invites a friend into ${of}`,
    method: 'POST',
    path: () => `${ACME}/organization-memberships`,
    body: invitationTo(team),
    ...refusedWith('manage-membership', seen),
  },
  {
    description: `changes ${of}`,
    method: 'PATCH',
    path: (scene) => `/teams/${team(scene)}`,
    body: () => resource('teams', { visibility: 'organization', 'allow-member-token-management': true }),
    ...refusedWith('manage-teams', seen),
  },
  {
    description: `deletes ${of}`,
    method: 'DELETE',
    path: (scene) => `/teams/${team(scene)}`,
    ...refusedWith('manage-teams', seen),
  },
  ...(['authentication-token', 'authentication-tokens'] as const).flatMap((tokens): Attempt[] => [
    {
      description: `creates a token of ${of} at ${tokens}`,
      method: 'POST',
      path: (scene) => `/teams/${team(scene)}/${tokens}`,
      body: () => resource('authentication-tokens', { description: 'mine' }),
    },
    { description: `reads ${tokens} of ${of}`, method: 'GET', path: (scene) => `/teams/${team(scene)}/${tokens}` },
  ]),
]);

const otherAttempts: readonly Attempt[] = [
  ...(['POST', 'GET', 'DELETE'] as const).map(
    (method): Attempt => ({
      description: `${method} the organization's token`,
      method,
      path: () => `${ACME}/authentication-token`,
    }),
  ),
  ...(['POST', 'GET'] as const).map(
    (method): Attempt => ({
      description: `${method} tokens of the owner`,
      method,
      path: ({ fixture }) => `/users/${fixture.users.owner?.id}/authentication-tokens`,
    }),
  ),
  ...(['GET', 'DELETE'] as const).flatMap((method): Attempt[] => [
    {
      description: `${method} a token of the owner`,
      method,
      path: ({ ownerToken }) => `/authentication-tokens/${ownerToken}`,
    },
    {
      description: `${method} a token of a secret team`,
      method,
      path: ({ secretTeamToken }) => `/authentication-tokens/${secretTeamToken}`,
    },
  ]),
  {
    description: 'removes the owner from the organization',
    method: 'DELETE',
    path: ({ ownerMembership }) => `/organization-memberships/${ownerMembership}`,
  },
  {
    description: 'changes the organization',
    method: 'PATCH',
    path: () => ACME,
    body: () => resource('organizations', { email: 'mine@example.org' }),
  },
  {
    description: 'changes the plan',
    method: 'PATCH',
    path: () => ACME,
    body: () => resource('organizations', { plan: 'free' }),
  },
  { description: 'deletes the organization', method: 'DELETE', path: () => ACME },
  {
    description: 'reads the audit trail',
    method: 'GET',
    path: () => '/organization/audit-trail?filter[organization]=acme',
  },
  { description: 'lists all users', method: 'GET', path: () => '/admin/users' },
  {
    description: 'deletes a user',
    method: 'DELETE',
    path: ({ fixture }) => `/admin/users/${fixture.users.member?.id}`,
  },
  {
    description: 'reads a user of no common organization',
    method: 'GET',
    path: ({ fixture }) => `/users/${fixture.users.outsider?.id}`,
  },
  {
    description: 'creates a site administrator',
    method: 'POST',
    path: () => '/admin/users',
    body: () => resource('users', { username: 'mine', email: 'mine@example.org', 'is-site-admin': true }),
  },
  {
    description: 'creates a row of the own team',
    method: 'POST',
    path: () => '/team-workspaces',
    body: ({ ownTeam, fixture }) => rowBody(ownTeam, fixture.workspace, { access: 'x' }),
    permittedBy: 'manage-workspaces',
  },
  {
    description: "changes a secret team's row",
    method: 'PATCH',
    path: ({ secretTeamRow }) => `/team-workspaces/${secretTeamRow}`,
    body: () => resource('team-workspaces', { access: 'x' }),
    permittedBy: 'manage-workspaces',
  },
  {
    description: 'creates a workspace',
    method: 'POST',
    path: () => `${ACME}/workspaces`,
    body: () => resource('workspaces', { name: '?' }),
    permittedBy: 'manage-workspaces',
  },
  {
    description: 'explains the access of the owner',
    method: 'GET',
    path: ({ fixture }) => `/workspaces/${fixture.workspace}/effective-access?filter[user]=acme-owner`,
  },
  {
    description: 'lists the effective access of the owner',
    method: 'GET',
    path: ({ fixture }) => `/users/${fixture.users.owner?.id}/effective-access?filter[organization]=acme`,
  },
  {
    description: 'explains the access of a secret team',
    method: 'GET',
    path: ({ fixture, secretTeam }) => `/workspaces/${fixture.workspace}/effective-access?filter[team]=${secretTeam}`,
    permittedBy: 'manage-workspaces',
  },
  {
    description: 'reads a secret team',
    method: 'GET',
    path: ({ secretTeam }) => `/teams/${secretTeam}`,
    permittedBy: 'access-secret-teams',
  },
  {
    description: "lists a secret team's rows",
    method: 'GET',
    path: ({ secretTeam }) => `/teams/${secretTeam}/team-workspaces`,
    permittedBy: 'access-secret-teams',
  },
  {
    description: "reads a secret team's row",
    method: 'GET',
    path: ({ secretTeamRow }) => `/team-workspaces/${secretTeamRow}`,
    permittedBy: 'manage-workspaces',
  },
];

/** Lists, searches, counts and includes, which must not contain a secret team. */
const LIST_PATHS: readonly ((scene: AttackScene) => string)[] = [
  () => `${ACME}/teams?include=users,organization-memberships`,
  () => `${ACME}/teams?q=zebra`,
  () => `${ACME}/teams?filter[names]=${SECRET_TEAM_NAME}`,
  () => `${ACME}/team-tokens`,
  () => `${ACME}/organization-memberships?include=user,teams`,
  () => `${ACME}/organization-memberships?q=insider&include=teams`,
  () => `${ACME}/access-matrix`,
  () => `${ACME}/workspaces`,
  ({ fixture }) => `/teams/${fixture.visibleTeam}/team-workspaces?include=team,workspace`,
  ({ fixture }) => `/team-workspaces?filter[workspace][id]=${fixture.workspace}&include=team,workspace`,
  ({ fixture, secretTeam }) =>
    `/team-workspaces?filter[workspace][id]=${fixture.workspace}&filter[team][id]=${secretTeam}`,
  ({ fixture }) => `/workspaces/${fixture.workspace}/effective-access`,
  ({ holder }) => `/users/${holder.id}/effective-access?filter[organization]=acme`,
  () => '/organizations',
  () => '/account/details',
];

describe('a member of a team with', () => {
  const api = sharedApi();
  let shared: Omit<AttackScene, 'holder' | 'ownTeam'>;
  let owner = '';

  before(async () => {
    const fixture = await createOrganizationFixture(api());
    owner = fixture.tokens.owner ?? '';
    const read = async <Data = ResourceObject>(path: string) =>
      documentOf<Data>(await request(api(), owner, 'GET', path)).data;
    const post = async (path: string, body: unknown) =>
      documentOf(await request(api(), owner, 'POST', path, { body })).data.id;
    const secretTeam = (await makeTeam(api(), owner, 'acme', { name: SECRET_TEAM_NAME })).id;
    await addToTeam(api(), owner, secretTeam, 'acme-insider');
    const token = resource('authentication-tokens', { description: SECRET_TEAM_NAME });
    const members = await read<ResourceObject[]>(`${ACME}/organization-memberships?q=acme-owner`);
    shared = {
      fixture,
      secretTeam,
      secretTeamWithoutRow: (await makeTeam(api(), owner, 'acme', SECRET_TEAM_WITHOUT_ROW)).id,
      secretTeamRow: await post('/team-workspaces', rowBody(secretTeam, fixture.workspace, { access: 'read' })),
      secretTeamToken: await post(`/teams/${secretTeam}/authentication-tokens`, token),
      ownerToken: await post(`/users/${fixture.users.owner?.id}/authentication-tokens`, token),
      ownerMembership: members[0]?.id ?? '',
    };
  });

  // Verifies [AUTHZ-10] [AUTHZ-62] [AUTHZ-79].
  for (const permission of ORGANIZATION_PERMISSIONS) {
    test(permission, async () => {
      const user = await makeUser(api(), permission);
      const membership = await join(api(), owner, 'acme', permission);
      const attributes = { visibility: 'organization', 'organization-access': { [permission]: true } };
      const ownTeam = (await makeTeam(api(), owner, 'acme', { name: `own-${permission}`, ...attributes })).id;
      await addToTeam(api(), owner, ownTeam, permission);
      const attacker: Attacker = {
        scene: { ...shared, ownTeam, holder: { ...user, membership } },
        held: withImplied([permission]),
        send: (method, path, body) => request(api(), user.token, method, path, body === undefined ? {} : { body }),
      };
      await tryAttempts(attacker);
      await tryToGainPermissions(attacker, `new-${permission}`);
      await tryToSeeSecretTeams(attacker);
    });
  }

  test('a row with admin access sees secret teams only as IDs in the rows of the workspace [AUTHZ-41]', async () => {
    const { fixture } = shared;
    const token = fixture.tokens['row-admin'];
    const holder = { id: '', username: '', membership: '', ...fixture.users['row-admin'] };
    const send = (method: string, path: string, body?: unknown) =>
      request(api(), token, method, path, body === undefined ? {} : { body });
    await tryToSeeSecretTeams({ scene: { ...shared, ownTeam: '', holder }, held: new Set(), send }, true);
    const matrix = (await send('GET', `${ACME}/access-matrix`)).text;
    assert.ok(matrix.includes(`"${shared.secretTeam}"`), 'the row of a secret team is seen');
  });
});

/** The scene, the permissions of the attacker, and a function that sends a request with its token. */
interface Attacker {
  readonly scene: AttackScene;
  readonly held: ReadonlySet<OrganizationPermission>;
  readonly send: (method: string, path: string, body?: unknown) => Promise<Answer>;
}

async function tryAttempts({ scene, held, send }: Attacker): Promise<void> {
  for (const { description, method, path, body, permittedBy, refusedWith: refused } of [
    ...teamAttempts,
    ...otherAttempts,
  ]) {
    const answer = await send(method, path(scene), body?.(scene));
    if (refused !== undefined && held.has(refused)) assert.equal(answer.status, 403, description);
    else if (permittedBy === undefined || !held.has(permittedBy))
      assert.deepEqual(statusAndText(answer), NOT_FOUND, description);
    else assert.ok(answer.status === 200 || answer.status === 422, `${description}: ${answer.text}`);
  }
}

/** Tries to give the missing permissions to the attacker's team and to a new team, in one request or two. */
async function tryToGainPermissions({ scene, held, send }: Attacker, name: string): Promise<void> {
  const visible = { visibility: 'organization' };
  const created = await send('POST', `${ACME}/teams`, resource('teams', { name, ...visible }));
  const isRefused = (answer: Answer, wanted: string) => {
    if (held.has('manage-teams')) assert.equal(answer.status, 403, wanted);
    else assert.deepEqual(statusAndText(answer), NOT_FOUND, wanted);
  };
  const teams = created.status === 200 ? [scene.ownTeam, documentOf(created).data.id] : [scene.ownTeam];
  for (const wanted of ORGANIZATION_PERMISSIONS.filter((permission) => !held.has(permission))) {
    const more = { 'organization-access': { [wanted]: true } };
    for (const team of teams) isRefused(await send('PATCH', `/teams/${team}`, resource('teams', more)), wanted);
    const createdWithPermission = await send(
      'POST',
      `${ACME}/teams`,
      resource('teams', { name: `with-${wanted}`, ...visible, ...more }),
    );
    isRefused(createdWithPermission, wanted);
  }
}

async function tryToSeeSecretTeams(
  { scene, held, send }: Attacker,
  administers = held.has('manage-workspaces'),
): Promise<void> {
  if (held.has('access-secret-teams')) return;
  for (const list of LIST_PATHS) {
    const path = list(scene);
    const { text } = await send('GET', path);
    for (const name of [SECRET_TEAM_NAME, SECRET_TEAM_WITHOUT_ROW.name, scene.secretTeamWithoutRow])
      assert.ok(!text.includes(`"${name}"`), `${path}: ${name}`);
    // A workspace admin sees the rows of the workspace, with the IDs of secret teams.
    if (!administers) assert.ok(!text.includes(`"${scene.secretTeam}"`), path);
    if (path.includes('zebra')) assert.match(text, /"total-count":0/, path);
  }
}
