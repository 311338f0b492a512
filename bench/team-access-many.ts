/** Measures team access with a million rows: memory, time to ready, and reads compared with a small state. */
import { type Server, startServer } from '../test/support/process/server.ts';
import { atLeast, atMost, type Figure, information, type ReportFigures } from './support/figures.ts';
import { measureRatesInterleaved } from './support/interleaved-rates.ts';
import {
  createOrganizationDirectory,
  ORGANIZATION,
  type OrganizationDirectory,
  type OrganizationSize,
  scatteredId,
} from './support/organization-directory.ts';
import { GC_ON_SIGNAL_ARGUMENTS, residentBytes, retainedBytes } from './support/resident-memory.ts';
import { type LoadResult, measureLoad, measureRate } from './support/wrk.ts';

const SECONDS = 3;
const FEW: OrganizationSize = { teams: 20, workspaces: 50, rowsOn: () => 20 };
/** The size of the measured page of the access matrix: workspaces, and teams on each. */
const PAGE_WORKSPACES = 20;
const PAGE_TEAMS = 200;
const MANY: OrganizationSize = {
  teams: 2_000,
  workspaces: 50_000,
  rowsOn: (workspace) => (workspace < PAGE_WORKSPACES ? PAGE_TEAMS : 20),
};
/** Long enough for some hundred pages. */
const PAGE_SECONDS = 8;

const settings = { 'team-access.rate-limit': '0' };

export async function benchManyRows(report: ReportFigures): Promise<void> {
  await using few = await createOrganizationDirectory(FEW);
  await using many = await createOrganizationDirectory(MANY);
  report('Team access: 1,000,000 rows, 50,000 workspaces, 2,000 teams', [
    ...(await footprint(many)),
    ...(await answers(few, many)),
  ]);
}

async function footprint({ directory: dataDirectory }: OrganizationDirectory): Promise<Figure[]> {
  const environment = { NODE_OPTIONS: GC_ON_SIGNAL_ARGUMENTS.join(' ') };
  const start = performance.now();
  await using server = await startServer({ dataDirectory, settings, environment });
  const seconds = (performance.now() - start) / 1_000;
  const pid = server.process.pid ?? 0;
  const loaded = residentBytes(pid);
  const [retained = 0] = await retainedBytes([pid]);
  return [
    atMost('time until ready', seconds, 20, 's'),
    information('resident memory after the start', loaded / 1e6, 'MB'),
    atMost('resident memory after garbage collection', retained / 1e6, 1_200, 'MB'),
  ];
}

async function answers(few: OrganizationDirectory, many: OrganizationDirectory): Promise<Figure[]> {
  await using small = await startServer({ dataDirectory: few.directory, settings });
  await using large = await startServer({ dataDirectory: many.directory, settings });
  const read =
    (server: Server, { ownerToken }: OrganizationDirectory) =>
    () =>
      measureRate({
        url: `${server.address}/api/v2/team-workspaces/${scatteredId('tws', 7)}`,
        headers: { authorization: `Bearer ${ownerToken}` },
        connections: 64,
        seconds: SECONDS,
      });
  const [fewReads = 0, manyReads = 0] = await measureRatesInterleaved([read(small, few), read(large, many)]);
  const matrix = await pageTimes(large, many.ownerToken);
  return [
    information('GET /team-workspaces/:id', manyReads, '/s'),
    atLeast('ratio to 1,000 rows', manyReads / fewReads, 0.8, '×'),
    information(`a page of the access matrix, ${PAGE_WORKSPACES} × ${PAGE_TEAMS}, p50`, matrix.p50Ms, 'ms'),
    atMost(`a page of the access matrix, ${PAGE_WORKSPACES} × ${PAGE_TEAMS}, p99`, matrix.p99Ms, 20, 'ms'),
  ];
}

/** Measures the page on one connection. */
function pageTimes(server: Server, token: string): Promise<LoadResult> {
  const path = `/api/v2/organizations/${ORGANIZATION}/access-matrix?page%5Bsize%5D=${PAGE_WORKSPACES}`;
  const headers = { authorization: `Bearer ${token}` };
  return measureLoad({ url: `${server.address}${path}`, headers, connections: 1, seconds: PAGE_SECONDS });
}
