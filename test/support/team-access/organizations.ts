/**
 * Organizations that are written directly into the state: teams, users, workspaces and a token for each kind of caller.
 * organization-fixture.ts creates a similar organization through the API.
 */
import { before } from 'node:test';
import { hashSecret, newApiToken, newId } from '../../../src/credentials/ids-and-secrets.ts';
import { users, userTokens } from '../../../src/credentials/user.ts';
import type { State } from '../../../src/state/state.ts';
import type { Transaction } from '../../../src/state/write/transaction.ts';
import { apiTokens } from '../../../src/team-access/tables/authentication-token.ts';
import { nameInOrganization, organizations, type Plan } from '../../../src/team-access/tables/organization.ts';
import type { OrganizationPermission } from '../../../src/team-access/tables/organization-access.ts';
import { membershipPair, memberships } from '../../../src/team-access/tables/organization-membership.ts';
import { projects } from '../../../src/team-access/tables/project.ts';
import { OWNERS_TEAM_NAME, teamMembers, teams, type Visibility } from '../../../src/team-access/tables/team.ts';
import { type Access, createAccess, teamWorkspaces } from '../../../src/team-access/tables/team-workspace.ts';
import { workspaces } from '../../../src/team-access/tables/workspace.ts';
import type { Api } from '../process/api.ts';
import { until } from '../until.ts';
import { request, resource, toOne } from './team-access.ts';

interface TeamSeed {
  /** `secret` by default. */
  readonly visibility?: Visibility;
  readonly permissions?: readonly OrganizationPermission[];
  /** The access to the workspace `main`. */
  readonly access?: Access;
}

const TEAMS = {
  owners: {},
  visible: { visibility: 'organization', access: createAccess('write', {}) },
  secret: { access: createAccess('plan', {}) },
  /** Has `admin` access to `main` by a row. */
  admins: { visibility: 'organization', access: createAccess('admin', {}) },
  /** Has `admin` access to every workspace by an organization permission, without rows. */
  managers: { visibility: 'organization', permissions: ['manage-workspaces'] },
  /** Has `read` access to every workspace by an organization permission, without rows. */
  readers: { visibility: 'organization', permissions: ['read-workspaces'] },
  /** Has no access to any workspace. */
  idle: { visibility: 'organization' },
  /** Secret, without access to any workspace. */
  hidden: {},
} as const satisfies Readonly<Record<string, TeamSeed>>;
export type TeamName = keyof typeof TEAMS;

/** Every kind of authenticated caller. The last three are not members of the organization. */
export const CALLERS = [
  ...['owner', 'owners-team-token', 'organization-token', 'admin-by-row', 'admin-by-permission'],
  ...['in-visible-team', 'in-secret-team', 'secret-team-token', 'reader', 'member-without-row', 'member-without-team'],
  ...['outsider', 'owner-elsewhere', 'site-admin'],
] as const;
/** Callers whose requests get 401. */
export const UNAUTHENTICATED = ['no-token', 'unknown-token', 'expired-token', 'deleted-user', 'deleted-team'] as const;
export type CallerKind = (typeof CALLERS)[number] | (typeof UNAUTHENTICATED)[number];

/** An organization, with the IDs of its resources. */
export interface Company {
  readonly id: string;
  readonly name: string;
  /** IDs by name. */
  readonly teams: Readonly<Record<TeamName, string>>;
  /** The IDs. Only `main` has rows. */
  readonly workspaces: Readonly<Record<'main' | 'other', string>>;
  /** The IDs of the rows of `main`, by team. */
  readonly rows: Readonly<Record<'visible' | 'secret' | 'admins', string>>;
  /** Null for a caller without a token. */
  readonly tokens: Readonly<Record<CallerKind, string | null>>;
}

/** Creates a company, and another organization for the caller `owner-elsewhere`. */
export async function makeCompany(state: State, name: string, plan: Plan = 'standard'): Promise<Company> {
  const company = await state.write((tx) => putCompany(tx, name, plan));
  // Deletes a user and a team together with their tokens.
  await state.write((tx) => {
    tx.delete(users, userIdByName(tx, `${name}-deleted`));
    tx.delete(teams, tx.find(teams, 'name', nameInOrganization(company.id, DELETED_TEAM))?.row.id ?? '');
  });
  await until('the orphaned keys are deleted', () => !state.snapshot.mayHaveOrphans);
  return company;
}

/** Creates one company for all tests of a `describe`, with the first use of its owner's token already recorded. */
export function sharedCompany(api: () => Api): () => { readonly company: Company; readonly owner: string } {
  let company: Company | undefined;
  before(async () => {
    company = await makeCompany(api().state, 'acme');
    await request(api(), company.tokens.owner, 'GET', '/account/details');
    await api().usesWritten();
  });
  return () => {
    if (company === undefined) throw new Error('the shared company exists only inside tests');
    return { company, owner: company.tokens.owner ?? '' };
  };
}

function putCompany(tx: Transaction, name: string, plan: Plan): Company {
  const id = putOrganization(tx, name, plan);
  const ids = Object.fromEntries(
    Object.entries<TeamSeed>(TEAMS).map(([team, { visibility = 'secret', permissions }]) => [
      team,
      putTeam(tx, id, team, visibility, permissions),
    ]),
  ) as Record<TeamName, string>;
  const main = putWorkspace(tx, id, 'main');
  const other = putWorkspace(tx, id, 'other');
  const rows = {
    visible: putTeamWorkspace(tx, ids.visible, main, TEAMS.visible.access),
    secret: putTeamWorkspace(tx, ids.secret, main, TEAMS.secret.access),
    admins: putTeamWorkspace(tx, ids.admins, main, TEAMS.admins.access),
  };
  const putMember = (username: string, ...inTeams: TeamName[]): string => {
    const userId = putUser(tx, `${name}-${username}`);
    const membershipId = putMembership(tx, id, userId);
    for (const team of inTeams) tx.put(teamMembers, { teamId: ids[team], userId, membershipId });
    return putUserToken(tx, userId);
  };
  const elsewhere = putOrganization(tx, `${name}-elsewhere`, 'standard');
  const stranger = putUser(tx, `${name}-stranger`);
  const membershipId = putMembership(tx, elsewhere, stranger);
  const theirs = putTeam(tx, elsewhere, OWNERS_TEAM_NAME, 'secret', []);
  tx.put(teamMembers, { teamId: theirs, userId: stranger, membershipId });
  const expired = putUser(tx, `${name}-expired`);
  tx.put(teamMembers, { teamId: ids.owners, userId: expired, membershipId: putMembership(tx, id, expired) });
  const deleted = putUser(tx, `${name}-deleted`);
  tx.put(teamMembers, { teamId: ids.owners, userId: deleted, membershipId: putMembership(tx, id, deleted) });
  return {
    id,
    name,
    teams: ids,
    workspaces: { main, other },
    rows,
    tokens: {
      owner: putMember('owner', 'owners'),
      'owners-team-token': putApiToken(tx, { teamId: ids.owners }),
      'organization-token': putApiToken(tx, { organizationId: id }),
      'admin-by-row': putMember('admin', 'admins'),
      'admin-by-permission': putMember('manager', 'managers'),
      'in-visible-team': putMember('visible', 'visible'),
      'in-secret-team': putMember('secret', 'secret'),
      'secret-team-token': putApiToken(tx, { teamId: ids.secret }),
      reader: putMember('reader', 'readers'),
      'member-without-row': putMember('idle', 'idle'),
      'member-without-team': putMember('lonely'),
      outsider: putUserToken(tx, putUser(tx, `${name}-outsider`)),
      'owner-elsewhere': putUserToken(tx, stranger),
      'site-admin': putUserToken(tx, putUser(tx, `${name}-site-admin`, true)),
      'no-token': null,
      'unknown-token': newApiToken(),
      'expired-token': putUserToken(tx, expired, '2020-01-01T00:00:00Z'),
      'deleted-user': putUserToken(tx, deleted),
      'deleted-team': putApiToken(tx, { teamId: putTeam(tx, id, DELETED_TEAM, 'secret') }),
    },
  };
}

/** The team of the caller `deleted-team`. */
const DELETED_TEAM = 'gone';
const CREATE_TIME = '2026-01-31T00:00:00.000Z';

/** Writes an organization without its owners team. @returns its ID */
function putOrganization(tx: Transaction, name: string, plan: Plan): string {
  const id = newId('org');
  const defaultProjectId = newId('prj');
  const organization = { id, name, email: '', plan, ownersTeamId: newId('team'), defaultProjectId, settings: {} };
  tx.put(organizations, { ...organization, createTime: CREATE_TIME });
  tx.put(projects, { id: defaultProjectId, organizationId: id, name: 'Default Project', createTime: CREATE_TIME });
  return id;
}

/** Writes a team. A team named `owners` becomes the owners team. @returns its ID */
export function putTeam(
  tx: Transaction,
  organizationId: string,
  name: string,
  visibility: Visibility,
  organizationAccess: readonly OrganizationPermission[] = [],
): string {
  const owners = tx.get(organizations, organizationId)?.row.ownersTeamId;
  const id = name === OWNERS_TEAM_NAME && owners !== undefined ? owners : newId('team');
  tx.put(teams, {
    id,
    organizationId,
    name,
    description: null,
    visibility,
    ssoTeamId: null,
    allowMemberTokenManagement: true,
    organizationAccess,
    createTime: CREATE_TIME,
    place: tx.position,
  });
  return id;
}

/** Writes a workspace. @returns its ID */
export function putWorkspace(tx: Transaction, organizationId: string, name: string): string {
  const id = newId('ws');
  const projectId = tx.get(organizations, organizationId)?.row.defaultProjectId ?? '';
  const times = { createTime: CREATE_TIME, updateTime: CREATE_TIME };
  tx.put(workspaces, { id, organizationId, projectId, name, settings: {}, ...times, place: tx.position });
  return id;
}

/** Writes a row of team access. @returns its ID */
export function putTeamWorkspace(tx: Transaction, teamId: string, workspaceId: string, access: Access): string {
  const id = newId('tws');
  tx.put(teamWorkspaces, { ...access, id, teamId, workspaceId, place: tx.position });
  return id;
}

function putUser(tx: Transaction, username: string, siteAdmin = false): string {
  const id = newId('user');
  tx.put(users, { id, username, email: `${username}@example.org`, siteAdmin, createTime: CREATE_TIME });
  return id;
}

function putMembership(tx: Transaction, organizationId: string, userId: string): string {
  const known = tx.find(memberships, 'pair', membershipPair(organizationId, userId))?.row.id;
  if (known !== undefined) return known;
  const id = newId('ou');
  tx.put(memberships, { id, organizationId, userId, createTime: CREATE_TIME, place: tx.position });
  return id;
}

function putUserToken(tx: Transaction, userId: string, expirationTime?: string): string {
  const token = newApiToken();
  const row = { id: newId('at'), userId, secretHash: hashSecret(token), description: '', createTime: CREATE_TIME };
  tx.put(userTokens, { ...row, ...(expirationTime !== undefined && { expirationTime }) });
  return token;
}

/** Writes a token of a team or an organization. @returns its secret */
export function putApiToken(
  tx: Transaction,
  owner: ({ readonly teamId: string } | { readonly organizationId: string }) & { readonly createdBy?: string },
): string {
  const token = newApiToken();
  tx.put(apiTokens, {
    ...owner,
    id: newId('at'),
    secretHash: hashSecret(token),
    description: null,
    createTime: CREATE_TIME,
  });
  return token;
}

/** Returns the body that creates a row of team access. */
export const rowBody = (team: string, workspace: string, attributes: Readonly<Record<string, unknown>>) =>
  resource('team-workspaces', attributes, { team: toOne('teams', team), workspace: toOne('workspaces', workspace) });

export const userIdByName = (tx: Transaction, username: string): string =>
  tx.find(users, 'username', username)?.row.id ?? '';

/** Adds the owner of one company to another, without any team. */
export function joinCompany(tx: Transaction, { name }: Company, other: Company): void {
  putMembership(tx, other.id, userIdByName(tx, `${name}-owner`));
}
