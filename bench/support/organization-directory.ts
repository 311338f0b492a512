/** Organizations of any size, written below the server: what team access is measured on. */
import { hash } from 'node:crypto';
import { readCredentials } from '../../src/credentials/credentials-file.ts';
import { hashSecret } from '../../src/credentials/secret.ts';
import { users, userTokens } from '../../src/credentials/user.ts';
import type { State } from '../../src/state/state.ts';
import type { Transaction } from '../../src/state/write/transaction.ts';
import { type Access, createAccess } from '../../src/team-access/tables/access.ts';
import { organizations } from '../../src/team-access/tables/organization.ts';
import { memberships } from '../../src/team-access/tables/organization-membership.ts';
import { projects } from '../../src/team-access/tables/project.ts';
import { OWNERS_TEAM_NAME, teamMembers, teams } from '../../src/team-access/tables/team.ts';
import { teamWorkspaces } from '../../src/team-access/tables/team-workspace.ts';
import { workspaces } from '../../src/team-access/tables/workspace.ts';
import { createDataDirectory, type DataDirectory, writeInBatches } from './data-directory.ts';

/** How much of what an organization has. */
export interface OrganizationSize {
  readonly teams: number;
  readonly workspaces: number;
  readonly users?: number;
  readonly teamsPerUser?: number;
  /** How many teams have a row on a workspace, by its number. */
  readonly rowsOn: (workspace: number) => number;
}

export interface OrganizationDirectory extends DataDirectory {
  /** The token of the user who owns the organization. */
  readonly ownerToken: string;
}

/** The name of every organization here. */
export const ORGANIZATION = 'acme';
const ORGANIZATION_ID = scatteredId('org', 0);
const OWNERS_TEAM = 'team-ownersownersowne';

/** The id of a team or a workspace by its number, so that a load can name them. */
export const numberedId = (prefix: 'team' | 'ws', number: number): string =>
  `${prefix}-${String(number).padStart(16, '0')}`;

/** The id of anything else by its number: as scattered as those that the server makes. */
export function scatteredId(prefix: 'org' | 'ou' | 'prj' | 'tws' | 'user' | 'at', number: number): string {
  return `${prefix}-${hash('sha256', `${prefix} ${number}`, 'hex').slice(0, 16)}`;
}

/** The token of a user. */
export const userToken = (number: number): string => `token of user ${number}`.replaceAll(' ', '-');

/** Which team has the row with a number on a workspace. */
export const teamOfRow = ({ teams: count, rowsOn }: OrganizationSize, workspace: number, row: number): number =>
  (workspace * rowsOn(workspace) + row) % count;

/** A data directory with one organization. */
export async function createOrganizationDirectory(shape: OrganizationSize): Promise<OrganizationDirectory> {
  const filled = await createDataDirectory((state) => writeOrganization(state, shape));
  const credentials = await readCredentials(filled.directory);
  return { ...filled, ownerToken: credentials?.teamAccess.token ?? '' };
}

/** Writes the organization, owned by the first user of the state. */
async function writeOrganization(state: State, shape: OrganizationSize): Promise<void> {
  const { users: userCount = 0 } = shape;
  const admin = state.snapshot.find(users, 'username', 'admin')?.row.id ?? '';
  await state.write((tx) => {
    putOrganization(tx);
    putTeam(tx, OWNERS_TEAM, OWNERS_TEAM_NAME);
    putMember(tx, -1, admin, [OWNERS_TEAM]);
  });
  await writeInBatches(state, shape.teams, (tx, i) => putTeam(tx, numberedId('team', i), `team-${i}`));
  await writeInBatches(state, userCount, (tx, i) => putUser(tx, i, shape));
  await writeInBatches(state, shape.workspaces, (tx, i) => putWorkspace(tx, i));
  const rows: (readonly [workspace: number, row: number])[] = [];
  for (let workspace = 0; workspace < shape.workspaces; workspace++) {
    for (let row = 0; row < shape.rowsOn(workspace); row++) rows.push([workspace, row]);
  }
  await writeInBatches(state, rows.length, (tx, i) => {
    const [workspace, row] = rows[i] as (typeof rows)[number];
    tx.put(teamWorkspaces, {
      ...(ACCESS_LEVELS[i % ACCESS_LEVELS.length] ?? ACCESS_LEVELS[0]),
      id: scatteredId('tws', i),
      teamId: numberedId('team', teamOfRow(shape, workspace, row)),
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
  const theirs = Array.from({ length: teamsPerUser }, (_, j) => numberedId('team', (i + j * TEAM_STRIDE) % teamCount));
  putMember(tx, i, id, theirs);
}

/** Between the numbers of the teams of a user: they are on other workspaces. */
const TEAM_STRIDE = 67;

function putMember(tx: Transaction, number: number, userId: string, theirs: readonly string[]): void {
  const membershipId = scatteredId('ou', number);
  const createTime = createTimeOf(tx);
  tx.put(memberships, { id: membershipId, organizationId: ORGANIZATION_ID, userId, createTime, place: tx.position });
  for (const teamId of theirs) tx.put(teamMembers, { teamId, userId, membershipId });
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
