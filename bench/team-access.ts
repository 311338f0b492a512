/** Team access, beside bare Node.js doing the same in the same run. */
import { users } from '../src/credentials/user.ts';
import { accessContributions, userRole } from '../src/team-access/authorization/caller-role.ts';
import { effectiveAccess, explainAccess } from '../src/team-access/authorization/effective-access.ts';
import { organizations } from '../src/team-access/tables/organization.ts';
import { startServer } from '../test/support/process/server.ts';
import { compareWithBaseline, comparisonFigures } from './support/compare-with-baseline.ts';
import { openState } from './support/data-directory.ts';
import { atLeast, type Figure, information, type ReportFigures } from './support/figures.ts';
import {
  createOrganizationDirectory,
  numberedId,
  ORGANIZATION,
  type OrganizationSize,
  scatteredId,
  teamOfRow,
  userToken,
} from './support/organization-directory.ts';
import { benchManyRows } from './team-access-many.ts';
import { benchTeamAccessWrites } from './team-access-writes.ts';

/** Without a rate limit: it is the server that is measured. */
const settings = { 'team-access.rate-limit': '0' };

/** Each user reaches 100 workspaces: 50 by each of two teams. */
const TYPICAL: OrganizationSize = {
  teams: 200,
  workspaces: 2_000,
  users: 1_000,
  teamsPerUser: 2,
  rowsOn: () => 5,
};
/** Of what takes milliseconds: more at once would only wait for each other. */
const FEW_CONNECTIONS = 8;
const DECISIONS = 100_000;
const TEAMS = 1_000;

export async function benchTeamAccess(report: ReportFigures): Promise<void> {
  report('Team access: 200 teams, 2,000 workspaces, 1,000 users', await typicalOrganization());
  report(`Team access: a workspace with ${TEAMS} teams`, await largeList());
  await benchTeamAccessWrites(report);
  await benchManyRows(report);
}

async function typicalOrganization(): Promise<Figure[]> {
  await using filled = await createOrganizationDirectory(TYPICAL);
  const inProcess = await decisions(filled.directory);
  await using server = await startServer({ dataDirectory: filled.directory, settings });
  // In the team of the row.
  const user = teamOfRow(TYPICAL, 7, 0);
  const ask = (path: string, connections?: number) =>
    compareWithBaseline(server, userToken(user), { path: `/api/v2${path}`, ...(connections !== undefined && { connections }) });
  const reached = `/users/${scatteredId('user', user)}/effective-access?filter%5Borganization%5D=${ORGANIZATION}`;
  const row = await ask(`/team-workspaces/${scatteredId('tws', 5 * 7)}`);
  const access = await ask(`/workspaces/${numberedId('ws', 7)}/effective-access`);
  const all = await ask(reached);
  const explained = await ask(`${reached}&page%5Bsize%5D=100`, FEW_CONNECTIONS);
  return [
    information('GET /team-workspaces/:id', row.rate, '/s'),
    atLeast('GET /team-workspaces/:id, ratio to bare node:http', row.ratio, 0.7, '×'),
    ...comparisonFigures(row),
    information("a user's effective access on a workspace", access.rate, '/s'),
    atLeast("a user's effective access on a workspace, ratio to bare node:http", access.ratio, 0.5, '×'),
    ...comparisonFigures(access),
    atLeast('the same in process, with explanation, per second of CPU time', inProcess.explained, 30_000, '/s'),
    information('the same in process, decision only, per second of CPU time', inProcess.decided, '/s'),
    atLeast('all 100 workspaces of a user, 20 per page', all.rate, 2_000, '/s'),
    ...comparisonFigures(all),
    information('all 100 workspaces of a user, 100 per page', explained.rate, '/s'),
    ...comparisonFigures(explained),
  ];
}

/** Who asks and where changes from one decision to the next. @returns decisions a second of CPU time */
async function decisions(directory: string): Promise<{ readonly decided: number; readonly explained: number }> {
  await using state = await openState(directory);
  const { snapshot } = state;
  const organization = snapshot.get(organizations, scatteredId('org', 0))?.row;
  const everyone = snapshot.all(users).map(({ row }) => row.id);
  if (organization === undefined) throw new TypeError('there is no organization');
  const measure = (work: (userId: string, workspaceId: string) => boolean): number => {
    const before = process.cpuUsage().user;
    let some = 0;
    for (let i = 0; i < DECISIONS; i++) {
      const workspaceId = numberedId('ws', (i * 7) % TYPICAL.workspaces);
      if (work(everyone[i % everyone.length] ?? '', workspaceId)) some += 1;
    }
    if (some === 0) throw new Error('nobody has access to anything');
    return (DECISIONS / (process.cpuUsage().user - before)) * 1e6;
  };
  const found = (userId: string, workspaceId: string) => {
    const role = userRole(snapshot, userId, organization);
    return role === undefined ? [] : accessContributions(snapshot, role, workspaceId);
  };
  const decided = () => measure((userId, workspaceId) => effectiveAccess(found(userId, workspaceId)) !== undefined);
  const explained = () => measure((userId, workspaceId) => explainAccess(found(userId, workspaceId)).length > 0);
  // The first round compiles.
  decided();
  explained();
  return { decided: decided(), explained: explained() };
}

async function largeList(): Promise<Figure[]> {
  await using filled = await createOrganizationDirectory({ teams: TEAMS, workspaces: 1, rowsOn: () => TEAMS });
  await using server = await startServer({ dataDirectory: filled.directory, settings });
  const path = `/api/v2/team-workspaces?filter%5Bworkspace%5D%5Bid%5D=${numberedId('ws', 0)}`;
  const list = await compareWithBaseline(server, filled.ownerToken, { path, connections: FEW_CONNECTIONS });
  return [atLeast('list of all rows', list.rate, 200, '/s'), ...comparisonFigures(list)];
}
