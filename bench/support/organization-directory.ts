/** Creates data directories with one organization of a given size, for the figures of team access. */
import { hash } from 'node:crypto';
import { readCredentials } from '../../src/credentials/credentials-file.ts';
import { hashSecret } from '../../src/credentials/ids-and-secrets.ts';
import { users, userTokens } from '../../src/credentials/user.ts';
import type { State } from '../../src/state/state.ts';
import type { Transaction } from '../../src/state/write/transaction.ts';
import { organizations } from '../../src/team-access/tables/organization.ts';
import { memberships } from '../../src/team-access/tables/organization-membership.ts';
import { projects } from '../../src/team-access/tables/project.ts';
import { OWNERS_TEAM_NAME, teamMembers, teams } from '../../src/team-access/tables/team.ts';
import { type Access, createAccess, teamWorkspaces } from '../../src/team-access/tables/team-workspace.ts';
import { workspaces } from '../../src/team-access/tables/workspace.ts';
import { createDataDirectory, type DataDirectory, writeInBatches } from './data-directory.ts';

/** The numbers of objects in an organization. */
export interface OrganizationSize {
  readonly teams: number;
  readonly workspaces: number;
  readonly users?: number;
  readonly teamsPerUser?: number;
  /** Returns the number of team access rows on a workspace. Workspaces are numbered from 0. */
  readonly rowsOn: (workspace: number) => number;
}

export interface OrganizationDirectory extends DataDirectory {
  /** The token of a user in the owners team. */
  readonly ownerToken: string;
}

/** The name of the organization. */
export const ORGANIZATION = 'acme';
const ORGANIZATION_ID = scatteredId('org', 0);
const OWNERS_TEAM = 'team-ownersownersowne';

/** Returns the ID of the team or workspace with a number, in the format that `COUNT` in a load produces. */
export const numberedId = (prefix: 'team' | 'ws', number: number): string =>
  `${prefix}-${String(number).padStart(16, '0')}`;

/** Returns the ID of another object with a number. The IDs are as scattered as those that the server generates. */
export function scatteredId(prefix: 'org' | 'ou' | 'prj' | 'tws' | 'user' | 'at', number: number): string {
  return `${prefix}-${hash('sha256', `${prefix} ${number}`, 'hex').slice(0, 16)}`;
}

export const userToken = (number: number): string => `token of user ${number}`.replaceAll(' ', '-');

/** Returns the number of the team that a row on a workspace belongs to. */
export const teamOfRow = ({ teams: count, rowsOn }: OrganizationSize, workspace: number, row: number): number =>
  (workspace * rowsOn(workspace) + row) % count;

export async function createOrganizationDirectory(size: OrganizationSize): Promise<OrganizationDirectory> {
  const directory = await createDataDirectory((state) => writeOrganization(state, size));
  const credentials = await readCredentials(directory.directory);
  return { ...directory, ownerToken: credentials?.teamAccess.token ?? '' };
}

/** Writes the organization, whose owner is the first site administrator. */
async function writeOrganization(state: State, size: OrganizationSize): Promise<void> {
  const { users: userCount = 0 } = size;
  const admin = state.snapshot.find(users, 'username', 'admin')?.row.id ?? '';
  await state.write((tx) => {
    putOrganization(tx);
    putTeam(tx, OWNERS_TEAM, OWNERS_TEAM_NAME);
    putMember(tx, -1, admin, [OWNERS_TEAM]);
  });
  await writeInBatches(state, size.teams, (tx, i) => putTeam(tx, numberedId('team', i), `team-${i}`));
  await writeInBatches(state, userCount, (tx, i) => putUser(tx, i, size));
  await writeInBatches(state, size.workspaces, (tx, i) => putWorkspace(tx, i));
  const rows: (readonly [workspace: number, row: number])[] = [];
  for (let workspace = 0; workspace < size.workspaces; workspace++) {
    for (let row = 0; row < size.rowsOn(workspace); row++) rows.push([workspace, row]);
  }
  await writeInBatches(state, rows.length, (tx, i) => {
    const [workspace, row] = rows[i] as (typeof rows)[number];
    tx.put(teamWorkspaces, {
      ...(ACCESS_LEVELS[i % ACCESS_LEVELS.length] ?? ACCESS_LEVELS[0]),
      id: scatteredId('tws', i),
      teamId: numberedId('team', teamOfRow(size, workspace, row)),
      workspaceId: numberedId('ws', workspace),
      place: tx.position,
    });
  });
}

const ACCESS_LEVELS: readonly [Access, ...Access[]] = [
  { access: 'read' },
  { access: 'plan' },
  { access: 'write' },
  createAccess('custom', { runs: 'plan' }),
];

const createTimeOf = (tx: Transaction): string => new Date(tx.now).toISOString();

function putOrganization(tx: Transaction): void {
  const createTime = createTimeOf(tx);
  const defaultProjectId = scatteredId('prj', 0);
  tx.put(organizations, {
    id: ORGANIZATION_ID,
    name: ORGANIZATION,
    email: 'acme@example.org',
    plan: 'standard',
    ownersTeamId: OWNERS_TEAM,
    defaultProjectId,
    settings: {},
    createTime,
  });
  tx.put(projects, { id: defaultProjectId, organizationId: ORGANIZATION_ID, name: 'Default Project', createTime });
}

function putTeam(tx: Transaction, id: string, name: string): void {
  tx.put(teams, {
    id,
    organizationId: ORGANIZATION_ID,
    name,
    description: null,
    visibility: 'secret',
    ssoTeamId: null,
    allowMemberTokenManagement: true,
    organizationAccess: [],
    createTime: createTimeOf(tx),
    place: tx.position,
  });
}

function putUser(tx: Transaction, i: number, { teams: teamCount, teamsPerUser = 0 }: OrganizationSize): void {
  const id = scatteredId('user', i);
  const createTime = createTimeOf(tx);
  tx.put(users, { id, username: `user-${i}`, email: `user-${i}@example.org`, siteAdmin: false, createTime });
  tx.put(userTokens, {
    id: scatteredId('at', i),
    userId: id,
    secretHash: hashSecret(userToken(i)),
    description: '',
    createTime,
  });
  const teamIds = Array.from({ length: teamsPerUser }, (_, j) => numberedId('team', (i + j * TEAM_STRIDE) % teamCount));
  putMember(tx, i, id, teamIds);
}

/** The distance between the numbers of a user's teams. It puts them on different workspaces. */
const TEAM_STRIDE = 67;

function putMember(tx: Transaction, number: number, userId: string, teamIds: readonly string[]): void {
  const membershipId = scatteredId('ou', number);
  const createTime = createTimeOf(tx);
  tx.put(memberships, { id: membershipId, organizationId: ORGANIZATION_ID, userId, createTime, place: tx.position });
  for (const teamId of teamIds) tx.put(teamMembers, { teamId, userId, membershipId });
}

function putWorkspace(tx: Transaction, i: number): void {
  const createTime = createTimeOf(tx);
  tx.put(workspaces, {
    id: numberedId('ws', i),
    organizationId: ORGANIZATION_ID,
    projectId: scatteredId('prj', 0),
    name: `workspace-${i}`,
    settings: {},
    createTime,
    updateTime: createTime,
    place: tx.position,
  });
}
