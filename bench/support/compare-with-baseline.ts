/** Requests to a server beside bare `node:http` that answers each with the same bytes. */
import type { Server } from '../../test/support/process/server.ts';
import { startBaseline } from './baseline-server.ts';
import { type Figure, information } from './figures.ts';
import { compareServers, type Loaded } from './servers.ts';

/** One kind of request. */
export interface MeasuredRequest {
  readonly path: string;
  readonly method?: string;
  /** Requests under way; 64 unless given. */
  readonly connections?: number;
  /** Of a round, from 0, and -1 for the first request; see `Load.body` for what changes within one. */
  readonly body?: (round: number) => string;
}

export interface BaselineComparison {
  /** Requests a second. */
  readonly rate: number;
  readonly baselineRate: number;
  /** `rate` by `baselineRate`. */
  readonly ratio: number;
  /** CPU time a request by that of the bare server. */
  readonly cpuRatio: number;
}

/** What is told of a kind of request besides what it must reach. */
export const comparisonFigures = ({ baselineRate, ratio, cpuRatio }: BaselineComparison): Figure[] => [
  information('  bare node:http', baselineRate, '/s'),
  information('  ratio to bare node:http', ratio, '×'),
  information('  CPU time, ratio to bare node:http', cpuRatio, '×'),
];

const SECONDS = 3;
const CONNECTIONS_DEFAULT = 64;

/** The bare server gives the answer to a first request: that of a round before all others. */
export async function compareWithBaseline(
  server: Server,
  token: string,
  { path, method = 'GET', connections = CONNECTIONS_DEFAULT, body }: MeasuredRequest,
): Promise<BaselineComparison> {
  const headers = { authorization: `Bearer ${token}`, ...(body !== undefined && { 'content-type': JSON_API }) };
  const answer = await server.request(method, path, { headers, token: null, body: body?.(-1) });
  if (answer.status !== 200) throw new Error(answer.text);
  await using baseline = await startBaseline(answer);
  const common = { headers, method, connections, seconds: SECONDS };
  const to =
    (pid: number | undefined, url: string) =>
    (round: number): Loaded => ({ ...common, pid: pid ?? 0, url, ...(body !== undefined && { body: body(round) }) });
  const [beside, own] = await compareServers([
    to(baseline.pid, `${baseline.address}/`),
    to(server.process.pid, `${server.address}${path}`),
  ]);
  if (beside === undefined || own === undefined) throw new TypeError('a load has no figures');
  return {
    rate: own.rate,
    baselineRate: beside.rate,
    ratio: own.rate / beside.rate,
    cpuRatio: own.cpuUs / beside.cpuUs,
  };
}

const JSON_API = 'application/vnd.api+json';
