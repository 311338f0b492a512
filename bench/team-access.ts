/** Measures reads and decisions of team access, and compares them with bare `node:http`. */
import { users } from '../src/credentials/user.ts';
import { runAtOnce } from '../src/state/clock/slices.ts';
import { accessContributions, userRole } from '../src/team-access/authorization/caller.ts';
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

/** Disables the rate limit, which would limit the measured rates. */
const settings = { 'team-access.rate-limit': '0' };

/** Each user has access to 100 workspaces: 50 through each of two teams. */
const TYPICAL: OrganizationSize = {
  teams: 200,
  workspaces: 2_000,
  users: 1_000,
  teamsPerUser: 2,
  rowsOn: () => 5,
};
/** For requests that take milliseconds. More connections would only queue. */
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
  await using data = await createOrganizationDirectory(TYPICAL);
  const inProcess = await decisions(data.directory);
  await using server = await startServer({ dataDirectory: data.directory, settings });
  // The user who has the same number as the team of the measured row is a member of that team.
  const user = teamOfRow(TYPICAL, 7, 0);
  const measure = (path: string, connections?: number) =>
    compareWithBaseline(server, userToken(user), {
      path: `/api/v2${path}`,
      ...(connections !== undefined && { connections }),
    });
  const allWorkspaces = `/users/${scatteredId('user', user)}/effective-access?filter%5Borganization%5D=${ORGANIZATION}`;
  const row = await measure(`/team-workspaces/${scatteredId('tws', 5 * 7)}`);
  const access = await measure(`/workspaces/${numberedId('ws', 7)}/effective-access`);
  const page20 = await measure(allWorkspaces);
  const page100 = await measure(`${allWorkspaces}&page%5Bsize%5D=100`, FEW_CONNECTIONS);
  return [
    information('GET /team-workspaces/:id', row.rate, '/s'),
    atLeast('GET /team-workspaces/:id, ratio to bare node:http', row.ratio, 0.7, '×'),
    ...comparisonFigures(row),
    information("a user's effective access on a workspace", access.rate, '/s'),
    atLeast("a user's effective access on a workspace, ratio to bare node:http", access.ratio, 0.5, '×'),
    ...comparisonFigures(access),
    atLeast('the same in process, with explanation, per second of CPU time', inProcess.explained, 30_000, '/s'),
    information('the same in process, decision only, per second of CPU time', inProcess.decided, '/s'),
    atLeast('all 100 workspaces of a user, 20 per page', page20.rate, 2_000, '/s'),
    ...comparisonFigures(page20),
    information('all 100 workspaces of a user, 100 per page', page100.rate, '/s'),
    ...comparisonFigures(page100),
  ];
}

/** Decides for changing users and workspaces in process. @returns decisions per second of CPU time */
async function decisions(directory: string): Promise<{ readonly decided: number; readonly explained: number }> {
  await using state = await openState(directory);
  const { snapshot } = state;
  const organization = snapshot.get(organizations, scatteredId('org', 0))?.row;
  const userIds = snapshot.all(users).map(({ row }) => row.id);
  if (organization === undefined) throw new TypeError('the organization is missing');
  const measure = (work: (userId: string, workspaceId: string) => boolean): number => {
    const before = process.cpuUsage().user;
    let granted = 0;
    for (let i = 0; i < DECISIONS; i++) {
      const workspaceId = numberedId('ws', (i * 7) % TYPICAL.workspaces);
      if (work(userIds[i % userIds.length] ?? '', workspaceId)) granted += 1;
    }
    if (granted === 0) throw new Error('no user has access to any workspace');
    return (DECISIONS / (process.cpuUsage().user - before)) * 1e6;
  };
  const contributionsOf = (userId: string, workspaceId: string) => {
    const role = userRole(snapshot, userId, organization);
    return role === undefined ? [] : accessContributions(snapshot, role, workspaceId);
  };
  const decided = () =>
    measure((userId, workspaceId) => effectiveAccess(contributionsOf(userId, workspaceId)) !== undefined);
  const explained = () =>
    measure((userId, workspaceId) => runAtOnce(explainAccess(contributionsOf(userId, workspaceId))).length > 0);
  // Warm-up, so that the code is compiled.
  decided();
  explained();
  return { decided: decided(), explained: explained() };
}

async function largeList(): Promise<Figure[]> {
  await using data = await createOrganizationDirectory({ teams: TEAMS, workspaces: 1, rowsOn: () => TEAMS });
  await using server = await startServer({ dataDirectory: data.directory, settings });
  const path = `/api/v2/team-workspaces?filter%5Bworkspace%5D%5Bid%5D=${numberedId('ws', 0)}`;
  const list = await compareWithBaseline(server, data.ownerToken, { path, connections: FEW_CONNECTIONS });
  return [atLeast('list of all rows', list.rate, 200, '/s'), ...comparisonFigures(list)];
}
