/** Team access, durable writes: one by one, and ten thousand at once. */
import { OPERATIONS_TYPE } from '../src/team-access/bulk/operations/media-type.ts';
import { startServer } from '../test/support/process/server.ts';
import { besideBare, costs } from './support/beside-bare.ts';
import { atLeast, atMost, type Figure, median, type Tell } from './support/figures.ts';
import { fillOrganization, numberedId } from './support/organizations.ts';

const settings = { 'team-access.rate-limit': '0' };
/** Far more than a round writes: each write is for another workspace, each round for another team. */
const WORKSPACES = 150_000;
const TEAMS = 10;
const OPERATIONS = 10_000;
/** Teams from here on are those of operations. */
const FIRST_OF_OPERATIONS = 5;
const ROUNDS = 3;

export async function benchTeamAccessWrites(tell: Tell): Promise<void> {
  tell('Team access: durable writes', await writes());
}

/** A row for a team on a workspace. */
const rowOf = (team: string, workspace: string) => ({
  type: 'team-workspaces',
  attributes: { access: 'write' },
  relationships: {
    team: { data: { type: 'teams', id: team } },
    workspace: { data: { type: 'workspaces', id: workspace } },
  },
});

async function writes(): Promise<Figure[]> {
  await using filled = await fillOrganization({ teams: TEAMS, workspaces: WORKSPACES, rowsOn: () => 0 });
  await using server = await startServer({ dataDirectory: filled.directory, settings });
  const one = await besideBare(server, filled.ownerToken, {
    method: 'POST',
    path: '/api/v2/team-workspaces',
    body(round) {
      const workspace = round === -1 ? numberedId('ws', 0) : 'ws-00000000COUNT';
      return JSON.stringify({ data: rowOf(numberedId('team', round + 1), workspace) });
    },
  });
  const seconds: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const team = numberedId('team', FIRST_OF_OPERATIONS + round);
    const body = {
      'atomic:operations': Array.from({ length: OPERATIONS }, (_, i) => ({
        op: 'add',
        data: rowOf(team, numberedId('ws', i)),
      })),
    };
    const headers = { authorization: `Bearer ${filled.ownerToken}`, 'content-type': OPERATIONS_TYPE };
    const start = performance.now();
    const answer = await server.request('POST', '/api/v2/operations', { headers, token: null, body });
    seconds.push((performance.now() - start) / 1_000);
    if (answer.status !== 200) throw new Error(answer.text);
  }
  return [
    atLeast('POST /team-workspaces, 64 at once, each another row', one.rate, 8_000, '/s'),
    ...costs(one),
    atMost(`${OPERATIONS} rows in one atomic operation`, median(seconds), 2, 's'),
  ];
}
