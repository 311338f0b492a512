/** Measures durable writes of team access: single rows, and ten thousand rows in one request. */
import { OPERATIONS_TYPE } from '../src/team-access/bulk/operations/endpoints.ts';
import { startServer } from '../test/support/process/server.ts';
import { compareWithBaseline, comparisonFigures } from './support/compare-with-baseline.ts';
import { atLeast, atMost, type Figure, median, type ReportFigures } from './support/figures.ts';
import { createOrganizationDirectory, numberedId } from './support/organization-directory.ts';

const settings = { 'team-access.rate-limit': '0' };
/** More than the writes of one round. Each write takes another workspace, and each round another team. */
const WORKSPACES = 150_000;
const TEAMS = 10;
const OPERATIONS = 10_000;
/** The number of the first team that the rounds of operations use. */
const FIRST_OPERATIONS_TEAM = 5;
const ROUNDS = 3;

export async function benchTeamAccessWrites(report: ReportFigures): Promise<void> {
  report('Team access: durable writes', await writes());
}

/** Returns the resource object of a row for a team on a workspace. */
const rowDocument = (team: string, workspace: string) => ({
  type: 'team-workspaces',
  attributes: { access: 'write' },
  relationships: {
    team: { data: { type: 'teams', id: team } },
    workspace: { data: { type: 'workspaces', id: workspace } },
  },
});

async function writes(): Promise<Figure[]> {
  await using data = await createOrganizationDirectory({ teams: TEAMS, workspaces: WORKSPACES, rowsOn: () => 0 });
  await using server = await startServer({ dataDirectory: data.directory, settings });
  const one = await compareWithBaseline(server, data.ownerToken, {
    method: 'POST',
    path: '/api/v2/team-workspaces',
    body(round) {
      const workspace = round === -1 ? numberedId('ws', 0) : 'ws-00000000COUNT';
      return JSON.stringify({ data: rowDocument(numberedId('team', round + 1), workspace) });
    },
  });
  const seconds: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const team = numberedId('team', FIRST_OPERATIONS_TEAM + round);
    const body = {
      'atomic:operations': Array.from({ length: OPERATIONS }, (_, i) => ({
        op: 'add',
        data: rowDocument(team, numberedId('ws', i)),
      })),
    };
    const headers = { authorization: `Bearer ${data.ownerToken}`, 'content-type': OPERATIONS_TYPE };
    const start = performance.now();
    const answer = await server.request('POST', '/api/v2/operations', { headers, token: null, body });
    seconds.push((performance.now() - start) / 1_000);
    if (answer.status !== 200) throw new Error(answer.text);
  }
  return [
    atLeast('POST /team-workspaces, 64 connections, new rows', one.rate, 8_000, '/s'),
    ...comparisonFigures(one),
    atMost(`${OPERATIONS} rows in one atomic operation`, median(seconds), 2, 's'),
  ];
}
