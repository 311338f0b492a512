/**
 * No way round: members of a team with each organization permission try every road to more than they hold, and every way
 * to learn of a secret team. What a permission really gives stands in one table; everything else is the one 404.
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
import { rowBody } from '../support/team-access/organizations.ts';
import { NOT_FOUND, request, resource, type Shown, seen, shown } from '../support/team-access/team-access.ts';
import {
  addToTeam,
  join,
  makeTeam,
  makeUser,
  makeWorld,
  type World,
} from '../support/team-access/team-access-world.ts';

/** A name that nothing else in an answer has. */
const HIDDEN = 'zebra-crossing';
const ROWLESS = { name: 'tiger-lily', 'organization-access': { 'read-workspaces': true } };
const ACME = '/organizations/acme';

/** What one who tries has, and what they try it on. */
interface Scene {
  readonly world: World;
  readonly holder: { readonly id: string; readonly username: string; readonly membership: string };
  /** The holder's team. */
  readonly own: string;
  /** A secret team that the holder is not in, with a row on the workspace and a token. */
  readonly hidden: string;
  readonly hiddenRow: string;
  /** A secret team that the holder is not in, which reads every workspace without a row. */
  readonly rowless: string;
  readonly hiddenToken: string;
  /** A token of the owner, and the owner's membership. */
  readonly ownerToken: string;
  readonly ownerMembership: string;
}

interface Road {
  readonly what: string;
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  readonly path: (scene: Scene) => string;
  readonly body?: (scene: Scene) => unknown;
  /** For whom it is no way round, but what they may. */
  readonly may?: OrganizationPermission;
}

const joining = (by: 'users' | 'organization-memberships') => (scene: Scene) => ({
  data: [{ type: by, id: by === 'users' ? scene.holder.username : scene.holder.membership }],
});
const invitingTo = (team: (scene: Scene) => string) => (scene: Scene) =>
  resource(
    'organization-memberships',
    { email: 'friend@example.org' },
    { teams: { data: [{ type: 'teams', id: team(scene) }] } },
  );
const TARGETS: readonly (readonly [string, (scene: Scene) => string])[] = [
  ['owners', ({ world }) => world.ownersTeam],
  ['a stronger team', ({ world }) => world.strongTeam],
  ['a secret team', ({ hidden }) => hidden],
];

const towardsTeams: readonly Road[] = TARGETS.flatMap(([of, team]): Road[] => [
  ...(['users', 'organization-memberships'] as const).flatMap((by): Road[] =>
    (['POST', 'DELETE'] as const).map((method) => ({
      what: `${method === 'POST' ? 'joins' : 'empties'} ${of}, by ${by}`,
      method,
      path: (scene) => `/teams/${team(scene)}/relationships/${by}`,
      body: joining(by),
    })),
  ),
  {
    what: `invites a friend into ${of}`,
    method: 'POST',
    path: () => `${ACME}/organization-memberships`,
    body: invitingTo(team),
  },
  {
    what: `changes ${of}`,
    method: 'PATCH',
    path: (scene) => `/teams/${team(scene)}`,
    body: () => resource('teams', { visibility: 'organization', 'allow-member-token-management': true }),
  },
  { what: `deletes ${of}`, method: 'DELETE', path: (scene) => `/teams/${team(scene)}` },
  ...(['authentication-token', 'authentication-tokens'] as const).flatMap((tokens): Road[] => [
    {
      what: `makes a token of ${of} at ${tokens}`,
      method: 'POST',
      path: (scene) => `/teams/${team(scene)}/${tokens}`,
      body: () => resource('authentication-tokens', { description: 'mine' }),
    },
    { what: `reads ${tokens} of ${of}`, method: 'GET', path: (scene) => `/teams/${team(scene)}/${tokens}` },
  ]),
]);

const elsewhere: readonly Road[] = [
  ...(['POST', 'GET', 'DELETE'] as const).map(
    (method): Road => ({
      what: `${method} the organization's token`,
      method,
      path: () => `${ACME}/authentication-token`,
    }),
  ),
  ...(['POST', 'GET'] as const).map(
    (method): Road => ({
      what: `${method} tokens of the owner`,
      method,
      path: ({ world }) => `/users/${world.users.owner?.id}/authentication-tokens`,
    }),
  ),
  ...(['GET', 'DELETE'] as const).flatMap((method): Road[] => [
    {
      what: `${method} a token of the owner`,
      method,
      path: ({ ownerToken }) => `/authentication-tokens/${ownerToken}`,
    },
    {
      what: `${method} a token of a secret team`,
      method,
      path: ({ hiddenToken }) => `/authentication-tokens/${hiddenToken}`,
    },
  ]),
  {
    what: 'takes the owner out',
    method: 'DELETE',
    path: ({ ownerMembership }) => `/organization-memberships/${ownerMembership}`,
  },
  {
    what: 'changes the organization',
    method: 'PATCH',
    path: () => ACME,
    body: () => resource('organizations', { email: 'mine@example.org' }),
  },
  {
    what: 'changes the plan',
    method: 'PATCH',
    path: () => ACME,
    body: () => resource('organizations', { plan: 'free' }),
  },
  { what: 'deletes the organization', method: 'DELETE', path: () => ACME },
  { what: 'reads the audit trail', method: 'GET', path: () => '/organization/audit-trail?filter[organization]=acme' },
  { what: 'lists all users', method: 'GET', path: () => '/admin/users' },
  { what: 'deletes a user', method: 'DELETE', path: ({ world }) => `/admin/users/${world.users.member?.id}` },
  { what: 'reads a stranger', method: 'GET', path: ({ world }) => `/users/${world.users.outsider?.id}` },
  {
    what: 'makes a site administrator',
    method: 'POST',
    path: () => '/admin/users',
    body: () => resource('users', { username: 'mine', email: 'mine@example.org', 'is-site-admin': true }),
  },
  {
    what: 'gives their team a workspace',
    method: 'POST',
    path: () => '/team-workspaces',
    body: ({ own, world }) => rowBody(own, world.workspace, { access: 'x' }),
    may: 'manage-workspaces',
  },
  {
    what: "changes a secret team's row",
    method: 'PATCH',
    path: ({ hiddenRow }) => `/team-workspaces/${hiddenRow}`,
    body: () => resource('team-workspaces', { access: 'x' }),
    may: 'manage-workspaces',
  },
  {
    what: 'makes a workspace',
    method: 'POST',
    path: () => `${ACME}/workspaces`,
    body: () => resource('workspaces', { name: '?' }),
    may: 'manage-workspaces',
  },
  {
    what: 'explains the access of the owner',
    method: 'GET',
    path: ({ world }) => `/workspaces/${world.workspace}/effective-access?filter[user]=acme-owner`,
  },
  {
    what: 'lists what the owner reaches',
    method: 'GET',
    path: ({ world }) => `/users/${world.users.owner?.id}/effective-access?filter[organization]=acme`,
  },
  {
    what: 'explains the access of a secret team',
    method: 'GET',
    path: ({ world, hidden }) => `/workspaces/${world.workspace}/effective-access?filter[team]=${hidden}`,
    may: 'manage-workspaces',
  },
  { what: 'reads a secret team', method: 'GET', path: ({ hidden }) => `/teams/${hidden}`, may: 'access-secret-teams' },
  {
    what: "lists a secret team's rows",
    method: 'GET',
    path: ({ hidden }) => `/teams/${hidden}/team-workspaces`,
    may: 'access-secret-teams',
  },
  {
    what: "reads a secret team's row",
    method: 'GET',
    path: ({ hiddenRow }) => `/team-workspaces/${hiddenRow}`,
    may: 'manage-workspaces',
  },
];

/** Lists, searches, counts and what they bring along. */
const LISTS: readonly ((scene: Scene) => string)[] = [
  () => `${ACME}/teams?include=users,organization-memberships`,
  () => `${ACME}/teams?q=zebra`,
  () => `${ACME}/teams?filter[names]=${HIDDEN}`,
  () => `${ACME}/team-tokens`,
  () => `${ACME}/organization-memberships?include=user,teams`,
  () => `${ACME}/organization-memberships?q=insider&include=teams`,
  () => `${ACME}/access-matrix`,
  () => `${ACME}/workspaces`,
  ({ world }) => `/teams/${world.visibleTeam}/team-workspaces?include=team,workspace`,
  ({ world }) => `/team-workspaces?filter[workspace][id]=${world.workspace}&include=team,workspace`,
  ({ world, hidden }) => `/team-workspaces?filter[workspace][id]=${world.workspace}&filter[team][id]=${hidden}`,
  ({ world }) => `/workspaces/${world.workspace}/effective-access`,
  ({ holder }) => `/users/${holder.id}/effective-access?filter[organization]=acme`,
  () => '/organizations',
  () => '/account/details',
];

describe('a member of a team with', () => {
  const api = sharedApi();
  let shared: Omit<Scene, 'holder' | 'own'>;
  let owner = '';

  before(async () => {
    const world = await makeWorld(api());
    owner = world.tokens.owner ?? '';
    const read = async <Data = Shown>(path: string) => shown<Data>(await request(api(), owner, 'GET', path)).data;
    const post = async (path: string, body: unknown) =>
      shown(await request(api(), owner, 'POST', path, { body })).data.id;
    const hidden = (await makeTeam(api(), owner, 'acme', { name: HIDDEN })).id;
    await addToTeam(api(), owner, hidden, 'acme-insider');
    const token = resource('authentication-tokens', { description: HIDDEN });
    const members = await read<Shown[]>(`${ACME}/organization-memberships?q=acme-owner`);
    shared = {
      world,
      hidden,
      rowless: (await makeTeam(api(), owner, 'acme', ROWLESS)).id,
      hiddenRow: await post('/team-workspaces', rowBody(hidden, world.workspace, { access: 'read' })),
      hiddenToken: await post(`/teams/${hidden}/authentication-tokens`, token),
      ownerToken: await post(`/users/${world.users.owner?.id}/authentication-tokens`, token),
      ownerMembership: members[0]?.id ?? '',
    };
  });

  for (const permission of ORGANIZATION_PERMISSIONS) {
    test(permission, async () => {
      const user = await makeUser(api(), permission);
      const membership = await join(api(), owner, 'acme', permission);
      const attributes = { visibility: 'organization', 'organization-access': { [permission]: true } };
      const own = (await makeTeam(api(), owner, 'acme', { name: `own-${permission}`, ...attributes })).id;
      await addToTeam(api(), owner, own, permission);
      const trying: Trying = {
        scene: { ...shared, own, holder: { ...user, membership } },
        held: withImplied([permission]),
        ask: (method, path, body) => request(api(), user.token, method, path, body === undefined ? {} : { body }),
      };
      await tryRoads(trying);
      await tryToGrow(trying, `new-${permission}`);
      await tryToSee(trying);
    });
  }

  test('a row that makes them admin of the workspace: they see nothing more than its rows', async () => {
    const { world } = shared;
    const token = world.tokens['row-admin'];
    const holder = { id: '', username: '', membership: '', ...world.users['row-admin'] };
    const ask = (method: string, path: string, body?: unknown) =>
      request(api(), token, method, path, body === undefined ? {} : { body });
    await tryToSee({ scene: { ...shared, own: '', holder }, held: new Set(), ask }, true);
    const matrix = (await ask('GET', `${ACME}/access-matrix`)).text;
    assert.ok(matrix.includes(`"${shared.hidden}"`), 'the row of a secret team is seen');
  });
});

/** One who tries: what they try it on, what they hold, and how they ask. */
interface Trying {
  readonly scene: Scene;
  readonly held: ReadonlySet<OrganizationPermission>;
  readonly ask: (method: string, path: string, body?: unknown) => Promise<Answer>;
}

async function tryRoads({ scene, held, ask }: Trying): Promise<void> {
  for (const { what, method, path, body, may } of [...towardsTeams, ...elsewhere]) {
    const answer = await ask(method, path(scene), body?.(scene));
    if (may === undefined || !held.has(may)) assert.deepEqual(seen(answer), NOT_FOUND, what);
    else assert.ok(answer.status === 200 || answer.status === 422, `${what}: ${answer.text}`);
  }
}

/** What they do not hold is given neither to their team nor to a new one, in one step or in two. */
async function tryToGrow({ scene, held, ask }: Trying, name: string): Promise<void> {
  const made = await ask('POST', `${ACME}/teams`, resource('teams', { name }));
  const theirs = made.status === 200 ? [scene.own, shown(made).data.id] : [scene.own];
  for (const wanted of ORGANIZATION_PERMISSIONS.filter((one) => !held.has(one))) {
    const more = { 'organization-access': { [wanted]: true } };
    for (const team of theirs) {
      assert.deepEqual(seen(await ask('PATCH', `/teams/${team}`, resource('teams', more))), NOT_FOUND, wanted);
    }
    const grown = await ask('POST', `${ACME}/teams`, resource('teams', { name: `with-${wanted}`, ...more }));
    assert.deepEqual(seen(grown), NOT_FOUND, wanted);
  }
}

async function tryToSee({ scene, held, ask }: Trying, administers = held.has('manage-workspaces')): Promise<void> {
  if (held.has('access-secret-teams')) return;
  for (const list of LISTS) {
    const path = list(scene);
    const { text } = await ask('GET', path);
    for (const name of [HIDDEN, ROWLESS.name, scene.rowless])
      assert.ok(!text.includes(`"${name}"`), `${path}: ${name}`);
    // Who administers the workspace sees its rows, with secret teams as bare ids.
    if (!administers) assert.ok(!text.includes(`"${scene.hidden}"`), path);
    if (path.includes('zebra')) assert.match(text, /"total-count":0/, path);
  }
}
