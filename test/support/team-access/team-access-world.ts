/** An organization with every kind of caller, for tests of who may do what. */
import { hashSecret, newApiToken, newId } from '../../../src/credentials/secret.ts';
import { users as userTable, userTokens } from '../../../src/credentials/user.ts';
import { teams } from '../../../src/team-access/tables/team.ts';
import type { Api } from '../process/api.ts';
import { until } from '../until.ts';
import { makeOrganization, request, resource, type Shown, shown, to } from './team-access.ts';

/** Who is nobody: without a token, or with one that is unknown, or was good once. */
export const NOBODIES = ['nobody', 'unknown-token', 'expired', 'deleted-user', 'deleted-team'] as const;

/** Who asks. `row-admin` administers the workspace by the row of their team, and nothing else. */
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
  ...NOBODIES,
] as const;
export type CallerName = (typeof CALLERS)[number];

/** The organization permissions of those who have a team of their own for them. */
const PERMISSIONS: Partial<Record<CallerName, readonly string[]>> = {
  'workspaces-manager': ['manage-workspaces'],
  'access-manager': ['manage-organization-access'],
  'teams-manager': ['manage-teams'],
  'members-manager': ['manage-membership'],
  'secret-viewer': ['access-secret-teams'],
};

export interface World {
  readonly api: Api;
  readonly organization: string;
  /** Tokens by caller. */
  readonly tokens: Readonly<Record<CallerName, string | null>>;
  /** Users by caller, as far as they are users. */
  readonly users: Readonly<Partial<Record<CallerName, { readonly id: string; readonly username: string }>>>;
  readonly ownersTeam: string;
  /** A secret team, which `insider` is in; it has a read row on `workspace`. */
  readonly secretTeam: string;
  /** A team that everybody sees, which `member` is in and `team-token` is of; it has a plan row on `workspace`. */
  readonly visibleTeam: string;
  /** A secret team with a permission that only owners hold: nobody else may touch it. */
  readonly strongTeam: string;
  readonly workspace: string;
  readonly workspaceName: string;
}

/** Makes a user with a token, in the organization and a team if they are named. */
export async function makeUser(
  api: Api,
  username: string,
): Promise<{ readonly id: string; readonly username: string; readonly token: string }> {
  const body = resource('users', { username, email: `${username}@example.org` });
  const { id, attributes } = shown(await request(api, api.adminToken, 'POST', '/admin/users', { body })).data;
  return { id, username, token: String(attributes['token']) };
}

/** Brings a user into an organization. @returns the id of the membership */
export async function join(api: Api, owner: string, organization: string, username: string): Promise<string> {
  const body = resource('organization-memberships', { email: `${username}@example.org` });
  const path = `/organizations/${organization}/organization-memberships`;
  return shown(await request(api, owner, 'POST', path, { body })).data.id;
}

/** Makes a team. */
export async function makeTeam(
  api: Api,
  owner: string,
  organization: string,
  attributes: Readonly<Record<string, unknown>>,
): Promise<Shown> {
  const path = `/organizations/${organization}/teams`;
  return shown(await request(api, owner, 'POST', path, { body: resource('teams', attributes) })).data;
}

/** Puts users of the organization into a team. */
export async function addToTeam(api: Api, owner: string, team: string, ...usernames: string[]): Promise<void> {
  const body = { data: usernames.map((id) => ({ type: 'users', id })) };
  const answer = await request(api, owner, 'POST', `/teams/${team}/relationships/users`, { body });
  if (answer.status !== 204) throw new Error(answer.text);
}

/** Makes the organization. */
export async function makeWorld(api: Api, organization = 'acme'): Promise<World> {
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
  const strong = await makeTeam(api, owner.token, organization, {
    name: 'strong',
    visibility: 'organization',
    'organization-access': { 'manage-policies': true },
  });
  const workspaceBody = resource('workspaces', { name: 'production' });
  const workspace = shown(await request(api, owner.token, 'POST', `${path}/workspaces`, { body: workspaceBody })).data;
  for (const [team, access] of [
    [secret.id, 'read'],
    [visible.id, 'plan'],
    [admins.id, 'admin'],
  ] as const) {
    const related = { team: to('teams', team), workspace: to('workspaces', workspace.id) };
    const body = resource('team-workspaces', { access }, related);
    const answer = await request(api, owner.token, 'POST', '/team-workspaces', { body });
    if (answer.status !== 200) throw new Error(answer.text);
  }
  const owners = shown<Shown[]>(await request(api, owner.token, 'GET', `${path}/teams?q=owners`)).data[0]?.id ?? '';
  const tokenAt = async (at: string): Promise<string> => {
    const { attributes } = shown(await request(api, owner.token, 'POST', at)).data;
    return String(attributes['token']);
  };
  const gone = await makeTeam(api, owner.token, organization, { name: 'gone' });
  const tokenOfGone = await tokenAt(`/teams/${gone.id}/authentication-token`);
  await addToTeam(api, owner.token, owners, `${organization}-deleted-user`);
  await api.state.write((tx) => {
    tx.delete(userTable, users['deleted-user']?.id ?? '');
    tx.delete(teams, gone.id);
  });
  await until('what they owned is gone', () => !api.state.snapshot.ownersInDoubt);
  const tokenOf = (name: CallerName): string => users[name]?.token ?? '';
  return {
    api,
    organization,
    tokens: {
      ...(Object.fromEntries(Object.keys(users).map((name) => [name, tokenOf(name as CallerName)])) as Record<
        CallerName,
        string
      >),
      'owners-token': await tokenAt(`/teams/${owners}/authentication-token`),
      'organization-token': await tokenAt(`${path}/authentication-token`),
      'team-token': await tokenAt(`/teams/${visible.id}/authentication-token`),
      'site-admin': api.adminToken,
      expired: await expiredToken(api, owner.id),
      'unknown-token': newApiToken(),
      'deleted-team': tokenOfGone,
      nobody: null,
    },
    users,
    ownersTeam: owners,
    secretTeam: secret.id,
    visibleTeam: visible.id,
    strongTeam: strong.id,
    workspace: workspace.id,
    workspaceName: 'production',
  };
}

/** A token that was the owner's, once. */
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
