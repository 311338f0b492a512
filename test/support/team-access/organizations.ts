/** Whole organizations, put into the state at once: teams, people, workspaces and a token for each kind of caller. */
import { before } from 'node:test';
import { hashSecret, newApiToken, newId } from '../../../src/credentials/secret.ts';
import { users, userTokens } from '../../../src/credentials/user.ts';
import type { State } from '../../../src/state/state.ts';
import type { Transaction } from '../../../src/state/write/transaction.ts';
import { type Access, createdAccess } from '../../../src/team-access/tables/access.ts';
import { apiTokens } from '../../../src/team-access/tables/authentication-token.ts';
import { nameWithin, organizations, type Plan } from '../../../src/team-access/tables/organization.ts';
import type { OrganizationPermission } from '../../../src/team-access/tables/organization-access.ts';
import { membershipPair, memberships } from '../../../src/team-access/tables/organization-membership.ts';
import { projects } from '../../../src/team-access/tables/project.ts';
import { OWNERS, teams, type Visibility } from '../../../src/team-access/tables/team.ts';
import { teamMembers } from '../../../src/team-access/tables/team-member.ts';
import { teamWorkspaces } from '../../../src/team-access/tables/team-workspace.ts';
import { workspaces } from '../../../src/team-access/tables/workspace.ts';
import type { Api } from '../process/api.ts';
import { until } from '../until.ts';
import { request, resource, to } from './team-access.ts';

interface TeamShape {
  /** `secret` unless given. */
  readonly visibility?: Visibility;
  readonly permissions?: readonly OrganizationPermission[];
  /** What it has on the workspace `main`. */
  readonly row?: Access;
}

/** The teams of a company. */
const TEAMS = {
  owners: {},
  /** For everybody to see. */
  visible: { visibility: 'organization', row: createdAccess('write', {}) },
  secret: { row: createdAccess('plan', {}) },
  /** Admin of `main` by its row. */
  admins: { visibility: 'organization', row: createdAccess('admin', {}) },
  /** Admin of every workspace by an organization permission, without rows. */
  managers: { visibility: 'organization', permissions: ['manage-workspaces'] },
  /** Reads every workspace likewise. */
  readers: { visibility: 'organization', permissions: ['read-workspaces'] },
  /** Without access to anything. */
  idle: { visibility: 'organization' },
  /** Likewise, and secret. */
  hidden: {},
} as const satisfies Readonly<Record<string, TeamShape>>;
export type TeamName = keyof typeof TEAMS;

/** Every kind of caller; all but the last three are of the organization. */
export const CALLERS = [
  ...['owner', 'owners-team-token', 'organization-token', 'admin-by-row', 'admin-by-permission'],
  ...['in-visible-team', 'in-secret-team', 'secret-team-token', 'reader', 'member-without-row', 'member-without-team'],
  ...['outsider', 'owner-elsewhere', 'site-admin'],
] as const;
/** Who is nobody. */
export const NOBODIES = ['no-token', 'unknown-token', 'expired-token', 'deleted-user', 'deleted-team'] as const;
export type CallerKind = (typeof CALLERS)[number] | (typeof NOBODIES)[number];

export interface Company {
  readonly id: string;
  readonly name: string;
  /** Ids by name. */
  readonly teams: Readonly<Record<TeamName, string>>;
  /** `main` has rows, `other` none. */
  readonly workspaces: Readonly<Record<'main' | 'other', string>>;
  /** The rows of `main`, by team. */
  readonly rows: Readonly<Record<'visible' | 'secret' | 'admins', string>>;
  /** By kind of caller; null for who presents none. */
  readonly tokens: Readonly<Record<CallerKind, string | null>>;
}

/** Makes a company in one commit, and another organization whose owner is one of its callers. */
export async function makeCompany(state: State, name: string, plan: Plan = 'standard'): Promise<Company> {
  const company = await state.write((tx) => putCompany(tx, name, plan));
  // Their tokens go with a user and a team.
  await state.write((tx) => {
    tx.delete(users, userNamed(tx, `${name}-deleted`));
    tx.delete(teams, tx.find(teams, 'name', nameWithin(company.id, GONE))?.row.id ?? '');
  });
  await until('what they owned is gone', () => !state.snapshot.ownersInDoubt);
  return company;
}

/** A company of its own for the tests of a `describe`, on their API, with its owner's token, whose first use is written. */
export function sharedCompany(api: () => Api): () => { readonly company: Company; readonly owner: string } {
  let company: Company | undefined;
  before(async () => {
    company = await makeCompany(api().state, 'acme');
    await request(api(), company.tokens.owner, 'GET', '/account/details');
    await api().usesWritten();
  });
  return () => {
    if (company === undefined) throw new Error('the shared company is there within tests only');
    return { company, owner: company.tokens.owner ?? '' };
  };
}

function putCompany(tx: Transaction, name: string, plan: Plan): Company {
  const id = putOrganization(tx, name, plan);
  const ids = Object.fromEntries(
    Object.entries<TeamShape>(TEAMS).map(([team, { visibility = 'secret', permissions }]) => [
      team,
      putTeam(tx, id, team, visibility, permissions),
    ]),
  ) as Record<TeamName, string>;
  const main = putWorkspace(tx, id, 'main');
  const other = putWorkspace(tx, id, 'other');
  const rows = {
    visible: putRow(tx, ids.visible, main, TEAMS.visible.row),
    secret: putRow(tx, ids.secret, main, TEAMS.secret.row),
    admins: putRow(tx, ids.admins, main, TEAMS.admins.row),
  };
  const person = (username: string, ...inTeams: TeamName[]): string => {
    const userId = putUser(tx, `${name}-${username}`);
    const membershipId = putMembership(tx, id, userId);
    for (const team of inTeams) tx.put(teamMembers, { teamId: ids[team], userId, membershipId });
    return putUserToken(tx, userId);
  };
  const elsewhere = putOrganization(tx, `${name}-elsewhere`, 'standard');
  const stranger = putUser(tx, `${name}-stranger`);
  const membershipId = putMembership(tx, elsewhere, stranger);
  const theirs = putTeam(tx, elsewhere, OWNERS, 'secret', []);
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
      owner: person('owner', 'owners'),
      'owners-team-token': putApiToken(tx, { teamId: ids.owners }),
      'organization-token': putApiToken(tx, { organizationId: id }),
      'admin-by-row': person('admin', 'admins'),
      'admin-by-permission': person('manager', 'managers'),
      'in-visible-team': person('visible', 'visible'),
      'in-secret-team': person('secret', 'secret'),
      'secret-team-token': putApiToken(tx, { teamId: ids.secret }),
      reader: person('reader', 'readers'),
      'member-without-row': person('idle', 'idle'),
      'member-without-team': person('lonely'),
      outsider: putUserToken(tx, putUser(tx, `${name}-outsider`)),
      'owner-elsewhere': putUserToken(tx, stranger),
      'site-admin': putUserToken(tx, putUser(tx, `${name}-site-admin`, true)),
      'no-token': null,
      'unknown-token': newApiToken(),
      'expired-token': putUserToken(tx, expired, '2020-01-01T00:00:00Z'),
      'deleted-user': putUserToken(tx, deleted),
      'deleted-team': putApiToken(tx, { teamId: putTeam(tx, id, GONE, 'secret') }),
    },
  };
}

/** The team that is not there any more. */
const GONE = 'gone';
const CREATED = '2026-01-31T00:00:00.000Z';

/** An organization whose `owners` team is put next. */
function putOrganization(tx: Transaction, name: string, plan: Plan): string {
  const id = newId('org');
  const defaultProjectId = newId('prj');
  const organization = { id, name, email: '', plan, ownersTeamId: newId('team'), defaultProjectId, settings: {} };
  tx.put(organizations, { ...organization, createTime: CREATED });
  tx.put(projects, { id: defaultProjectId, organizationId: id, name: 'Default Project', createTime: CREATED });
  return id;
}

/** Puts a team; the one named `owners` is that of the organization. @returns its id */
export function putTeam(
  tx: Transaction,
  organizationId: string,
  name: string,
  visibility: Visibility,
  organizationAccess: readonly OrganizationPermission[] = [],
): string {
  const owners = tx.get(organizations, organizationId)?.row.ownersTeamId;
  const id = name === OWNERS && owners !== undefined ? owners : newId('team');
  tx.put(teams, {
    id,
    organizationId,
    name,
    description: null,
    visibility,
    ssoTeamId: null,
    allowMemberTokenManagement: true,
    organizationAccess,
    createTime: CREATED,
    place: tx.position,
  });
  return id;
}

/** @returns its id */
export function putWorkspace(tx: Transaction, organizationId: string, name: string): string {
  const id = newId('ws');
  const projectId = tx.get(organizations, organizationId)?.row.defaultProjectId ?? '';
  const times = { createTime: CREATED, updateTime: CREATED };
  tx.put(workspaces, { id, organizationId, projectId, name, settings: {}, ...times, place: tx.position });
  return id;
}

/** @returns its id */
export function putRow(tx: Transaction, teamId: string, workspaceId: string, access: Access): string {
  const id = newId('tws');
  tx.put(teamWorkspaces, { ...access, id, teamId, workspaceId, place: tx.position });
  return id;
}

function putUser(tx: Transaction, username: string, siteAdmin = false): string {
  const id = newId('user');
  tx.put(users, { id, username, email: `${username}@example.org`, siteAdmin, createTime: CREATED });
  return id;
}

function putMembership(tx: Transaction, organizationId: string, userId: string): string {
  const known = tx.find(memberships, 'pair', membershipPair(organizationId, userId))?.row.id;
  if (known !== undefined) return known;
  const id = newId('ou');
  tx.put(memberships, { id, organizationId, userId, createTime: CREATED, place: tx.position });
  return id;
}

function putUserToken(tx: Transaction, userId: string, expirationTime?: string): string {
  const token = newApiToken();
  const row = { id: newId('at'), userId, secretHash: hashSecret(token), description: '', createTime: CREATED };
  tx.put(userTokens, { ...row, ...(expirationTime !== undefined && { expirationTime }) });
  return token;
}

/** @returns the token */
export function putApiToken(
  tx: Transaction,
  of: { readonly teamId: string } | { readonly organizationId: string },
): string {
  const token = newApiToken();
  tx.put(apiTokens, { ...of, id: newId('at'), secretHash: hashSecret(token), description: null, createTime: CREATED });
  return token;
}

/** The body that gives a team access to a workspace. */
export const rowBody = (team: string, workspace: string, attributes: Readonly<Record<string, unknown>>) =>
  resource('team-workspaces', attributes, { team: to('teams', team), workspace: to('workspaces', workspace) });

const userNamed = (tx: Transaction, username: string): string => tx.find(users, 'username', username)?.row.id ?? '';

/** Makes the owner of one company a member of another, in none of its teams. */
export function joinCompany(tx: Transaction, { name }: Company, other: Company): void {
  putMembership(tx, other.id, userNamed(tx, `${name}-owner`));
}
