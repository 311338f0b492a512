/**
 * An organization with every kind of caller, created through the API, for authorization tests. organizations.ts writes
 * a similar organization directly into the state.
 */
import { hashSecret, newApiToken, newId } from '../../../src/credentials/ids-and-secrets.ts';
import { users as userTable, userTokens } from '../../../src/credentials/user.ts';
import { teams } from '../../../src/team-access/tables/team.ts';
import type { Api } from '../process/api.ts';
import { until } from '../until.ts';
import { documentOf, makeOrganization, type ResourceObject, request, resource, toOne } from './team-access.ts';

/** Callers whose requests get 401. */
export const UNAUTHENTICATED = ['no-token', 'unknown-token', 'expired-token', 'deleted-user', 'deleted-team'] as const;

/** Every kind of caller. `row-admin` is a workspace admin by a row of its team. */
export const CALLERS = [
  'owner',
  'owners-token',
  'organization-token',
  'workspaces-manager',
  'row-admin',
  'access-manager',
  'teams-manager',
  'members-manager',
  'secret-viewer',
  'insider',
  'member',
  'team-token',
  'outsider',
  'site-admin',
  ...UNAUTHENTICATED,
] as const;
export type CallerName = (typeof CALLERS)[number];

/** The callers with organization permissions. Each is the only member of a team with them. */
const PERMISSIONS: Partial<Record<CallerName, readonly string[]>> = {
  'workspaces-manager': ['manage-workspaces'],
  'access-manager': ['manage-organization-access'],
  'teams-manager': ['manage-teams'],
  'members-manager': ['manage-membership'],
  'secret-viewer': ['access-secret-teams'],
};

export interface OrganizationFixture {
  readonly api: Api;
  readonly organization: string;
  /** Null for the caller without a token. */
  readonly tokens: Readonly<Record<CallerName, string | null>>;
  /** Only the callers that are users. */
  readonly users: Readonly<Partial<Record<CallerName, { readonly id: string; readonly username: string }>>>;
  readonly ownersTeam: string;
  /** A secret team with the member `insider` and a read row on `workspace`. */
  readonly secretTeam: string;
  /** A visible team with the member `member`, the token `team-token` and a plan row on `workspace`. */
  readonly visibleTeam: string;
  /** A visible team without members, rows, and permissions. */
  readonly idleTeam: string;
  /** A visible team with a permission that only owners hold, so only owners may change it [AUTHZ-44]. */
  readonly strongTeam: string;
  readonly workspace: string;
  readonly workspaceName: string;
}

/** Creates a user with a token. */
export async function makeUser(
  api: Api,
  username: string,
): Promise<{ readonly id: string; readonly username: string; readonly token: string }> {
  const body = resource('users', { username, email: `${username}@example.org` });
  const { id, attributes } = documentOf(await request(api, api.adminToken, 'POST', '/admin/users', { body })).data;
  return { id, username, token: String(attributes['token']) };
}

/** Adds a user to an organization. @returns the ID of the membership */
export async function join(api: Api, owner: string, organization: string, username: string): Promise<string> {
  const body = resource('organization-memberships', { email: `${username}@example.org` });
  const path = `/organizations/${organization}/organization-memberships`;
  return documentOf(await request(api, owner, 'POST', path, { body })).data.id;
}

export async function makeTeam(
  api: Api,
  owner: string,
  organization: string,
  attributes: Readonly<Record<string, unknown>>,
): Promise<ResourceObject> {
  const path = `/organizations/${organization}/teams`;
  return documentOf(await request(api, owner, 'POST', path, { body: resource('teams', attributes) })).data;
}

/** Adds users of the organization to a team. */
export async function addToTeam(api: Api, owner: string, team: string, ...usernames: string[]): Promise<void> {
  const body = { data: usernames.map((id) => ({ type: 'users', id })) };
  const answer = await request(api, owner, 'POST', `/teams/${team}/relationships/users`, { body });
  if (answer.status !== 204) throw new Error(answer.text);
}

export async function createOrganizationFixture(api: Api, organization = 'acme'): Promise<OrganizationFixture> {
  const owner = await makeUser(api, `${organization}-owner`);
  await makeOrganization(api, owner.token, organization);
  const users: Partial<Record<CallerName, { id: string; username: string; token: string }>> = { owner };
  for (const name of ['insider', 'member', 'outsider', 'row-admin', 'deleted-user'] as const)
    users[name] = await makeUser(api, `${organization}-${name}`);
  const path = `/organizations/${organization}`;
  for (const name of ['insider', 'member', 'row-admin', 'deleted-user'] as const)
    await join(api, owner.token, organization, `${organization}-${name}`);
  for (const [name, permissions] of Object.entries(PERMISSIONS)) {
    const user = await makeUser(api, `${organization}-${name}`);
    users[name as CallerName] = user;
    await join(api, owner.token, organization, user.username);
    const access = Object.fromEntries(permissions.map((permission) => [permission, true]));
    const team = await makeTeam(api, owner.token, organization, { name, 'organization-access': access });
    await addToTeam(api, owner.token, team.id, user.username);
  }
  const secret = await makeTeam(api, owner.token, organization, { name: 'secret' });
  await addToTeam(api, owner.token, secret.id, `${organization}-insider`);
  const admins = await makeTeam(api, owner.token, organization, { name: 'row-admins' });
  await addToTeam(api, owner.token, admins.id, `${organization}-row-admin`);
  const visible = await makeTeam(api, owner.token, organization, { name: 'visible', visibility: 'organization' });
  await addToTeam(api, owner.token, visible.id, `${organization}-member`);
  const idle = await makeTeam(api, owner.token, organization, { name: 'idle', visibility: 'organization' });
  const strong = await makeTeam(api, owner.token, organization, {
    name: 'strong',
    visibility: 'organization',
    'organization-access': { 'manage-policies': true },
  });
  const workspaceBody = resource('workspaces', { name: 'production' });
  const workspace = documentOf(
    await request(api, owner.token, 'POST', `${path}/workspaces`, { body: workspaceBody }),
  ).data;
  for (const [team, access] of [
    [secret.id, 'read'],
    [visible.id, 'plan'],
    [admins.id, 'admin'],
  ] as const) {
    const related = { team: toOne('teams', team), workspace: toOne('workspaces', workspace.id) };
    const body = resource('team-workspaces', { access }, related);
    const answer = await request(api, owner.token, 'POST', '/team-workspaces', { body });
    if (answer.status !== 200) throw new Error(answer.text);
  }
  const owners =
    documentOf<ResourceObject[]>(await request(api, owner.token, 'GET', `${path}/teams?q=owners`)).data[0]?.id ?? '';
  const createToken = async (tokenPath: string): Promise<string> => {
    const { attributes } = documentOf(await request(api, owner.token, 'POST', tokenPath)).data;
    return String(attributes['token']);
  };
  const deletedTeam = await makeTeam(api, owner.token, organization, { name: 'gone' });
  const deletedTeamToken = await createToken(`/teams/${deletedTeam.id}/authentication-token`);
  await addToTeam(api, owner.token, owners, `${organization}-deleted-user`);
  await api.state.write((tx) => {
    tx.delete(userTable, users['deleted-user']?.id ?? '');
    tx.delete(teams, deletedTeam.id);
  });
  await until('the orphaned keys are deleted', () => !api.state.snapshot.mayHaveOrphans);
  const tokenOf = (name: CallerName): string => users[name]?.token ?? '';
  return {
    api,
    organization,
    tokens: {
      ...(Object.fromEntries(Object.keys(users).map((name) => [name, tokenOf(name as CallerName)])) as Record<
        CallerName,
        string
      >),
      'owners-token': await createToken(`/teams/${owners}/authentication-token`),
      'organization-token': await createToken(`${path}/authentication-token`),
      'team-token': await createToken(`/teams/${visible.id}/authentication-token`),
      'site-admin': api.adminToken,
      'expired-token': await expiredToken(api, owner.id),
      'unknown-token': newApiToken(),
      'deleted-team': deletedTeamToken,
      'no-token': null,
    },
    users,
    ownersTeam: owners,
    secretTeam: secret.id,
    visibleTeam: visible.id,
    idleTeam: idle.id,
    strongTeam: strong.id,
    workspace: workspace.id,
    workspaceName: 'production',
  };
}

/** Writes a token of the user that expires after 1 ms. */
async function expiredToken(api: Api, userId: string): Promise<string> {
  const secret = newApiToken();
  await api.state.write((tx) => {
    const secretHash = hashSecret(secret);
    const createTime = new Date(tx.now).toISOString();
    const expirationTime = new Date(tx.now + 1).toISOString();
    tx.put(userTokens, { id: newId('at'), userId, secretHash, description: '', createTime, expirationTime });
  });
  return secret;
}
