/**
 * Compares the rate and the CPU time of requests to a server with a bare `node:http` server that returns the same
 * bytes.
 */
import { readFileSync } from 'node:fs';
import type { Server } from '../../test/support/process/server.ts';
import { startBaseline } from './baseline-server.ts';
import { type Figure, information, median } from './figures.ts';
import { type Load, measureRate } from './wrk.ts';

export interface MeasuredRequest {
  readonly path: string;
  readonly method?: string;
  /** 64 by default. */
  readonly connections?: number;
  /** Returns the body for a round. Rounds count from 0; the request that fills the baseline is round -1. */
  readonly body?: (round: number) => string;
}

export interface BaselineComparison {
  /** Requests per second. */
  readonly rate: number;
  readonly baselineRate: number;
  /** `rate` divided by `baselineRate`. */
  readonly ratio: number;
  /** CPU time per request divided by that of the baseline. */
  readonly cpuRatio: number;
}

/** Returns the figures of a comparison that have no target. */
export const comparisonFigures = ({ baselineRate, ratio, cpuRatio }: BaselineComparison): Figure[] => [
  information('  bare node:http', baselineRate, '/s'),
  information('  ratio to bare node:http', ratio, '×'),
  information('  CPU time, ratio to bare node:http', cpuRatio, '×'),
];

const ROUNDS = 3;
const SECONDS = 3;
const CONNECTIONS_DEFAULT = 64;
const JSON_API = 'application/vnd.api+json';

/** Sends the request once, starts a baseline with its response, and measures both servers. */
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
  const loadOn =
    (pid: number | undefined, url: string) =>
    (round: number): ProcessLoad => ({
      ...common,
      pid: pid ?? 0,
      url,
      ...(body !== undefined && { body: body(round) }),
    });
  const [bare, own] = await measureInterleaved([
    loadOn(baseline.pid, `${baseline.address}/`),
    loadOn(server.process.pid, `${server.address}${path}`),
  ]);
  if (bare === undefined || own === undefined) throw new TypeError('a load has no result');
  return {
    rate: own.rate,
    baselineRate: bare.rate,
    ratio: own.rate / bare.rate,
    cpuRatio: own.cpuUs / bare.cpuUs,
  };
}

/** A load on the server process `pid`. */
interface ProcessLoad extends Load {
  readonly pid: number;
}

interface ProcessResult {
  /** Requests per second. */
  readonly rate: number;
  /** CPU time of all threads per request, in microseconds. Other processes hardly affect it. */
  readonly cpuUs: number;
}

/** Measures the loads in alternating rounds, so that noise affects all of them. @returns the medians of each */
async function measureInterleaved(loads: readonly ((round: number) => ProcessLoad)[]): Promise<ProcessResult[]> {
  const results: ProcessResult[][] = loads.map(() => []);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, load] of loads.entries()) results[i]?.push(await measure(load(round)));
  }
  return results.map((rounds) => ({
    rate: median(rounds.map(({ rate }) => rate)),
    cpuUs: median(rounds.map(({ cpuUs }) => cpuUs)),
  }));
}

async function measure({ pid, ...load }: ProcessLoad): Promise<ProcessResult> {
  const before = cpuSeconds(pid);
  const rate = await measureRate(load);
  return { rate, cpuUs: ((cpuSeconds(pid) - before) / (rate * load.seconds)) * 1e6 };
}

/** USER_HZ, the unit of times in /proc. It is 100 on every Linux. */
const TICKS_PER_SECOND = 100;

/** Returns the CPU time that a process has used, in user and kernel mode. */
function cpuSeconds(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // `utime` and `stime` are the 12th and 13th fields after the name, which may contain any character.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}
