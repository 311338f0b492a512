/**
 * Measures how long many blocking queries take to be answered after a change, and compares that with bare `node:http`.
 */
import { type Answer, type Server, startServer } from '../../test/support/process/server.ts';
import { startBaseline } from './baseline-server.ts';
import { startBlockingClients } from './blocking-clients.ts';
import { median, percentile } from './figures.ts';
import { residentBytes } from './resident-memory.ts';

const ROUNDS = 5;

/** All queries come from one address with one token. */
const ONE_CLIENT = { 'limits.connections-per-address': '20000', 'limits.waiting-per-token': '20000' };

export interface BlockingQueryLoad {
  readonly count: number;
  /** The path of the queries. */
  readonly path: string;
  /** Prepares each server before the queries start. */
  readonly prepare?: (server: Server) => Promise<unknown>;
  /** Changes the result of the queries. */
  readonly change: (server: Server, round: number) => Promise<unknown>;
}

/** The medians of the rounds, and `pingMs` of all rounds. */
export interface BlockingQueryResult {
  /** The time until bare `node:http` has answered the same number of requests. */
  readonly baselineMs: number;
  /** The time until all queries are answered. */
  readonly ms: number;
  /** The time until 99 % of the queries are answered. */
  readonly p99Ms: number;
  /** Resident memory per query. */
  readonly bytesEach: number;
  /** Latencies of other requests at the same time. */
  readonly pingMs: readonly number[];
}

/** Measures `count` blocking queries in several rounds. Each round has a new server. */
export async function measureBlockingQueries({
  count,
  path,
  prepare,
  change,
}: BlockingQueryLoad): Promise<BlockingQueryResult> {
  const baselineMs: number[] = [];
  const ms: number[] = [];
  const p99Ms: number[] = [];
  const bytesEach: number[] = [];
  const pingMs: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await using server = await startServer({ settings: ONE_CLIENT });
    await prepare?.(server);
    const answer = await server.request('GET', path);
    if (answer.status !== 200) throw new Error(answer.text);
    baselineMs.push(await measureBaseline(answer, count));
    const before = residentBytes(server.process.pid ?? 0);
    const query = `${path}?index=${answer.headers['x-service-index']}&wait=10m`;
    await using clients = await startBlockingClients({
      port: Number(new URL(server.address).port),
      request: `GET ${query} HTTP/1.1\r\nHost: bench\r\nX-Service-Token: ${server.token}\r\n\r\n`,
      count,
    });
    await untilWaiting(server, count);
    bytesEach.push((residentBytes(server.process.pid ?? 0) - before) / count);
    const pings = startPings(server, pingMs);
    const start = now();
    await change(server, round);
    const times = (await clients.answerTimes()).map((time) => time - start);
    ms.push(Math.max(...times));
    p99Ms.push(percentile(times, 0.99));
    await pings.stop();
  }
  return { baselineMs: median(baselineMs), ms: median(ms), p99Ms: median(p99Ms), bytesEach: median(bytesEach), pingMs };
}

/** Returns milliseconds on a clock that all processes share. */
const now = (): number => performance.timeOrigin + performance.now();

async function measureBaseline(answer: Answer, count: number): Promise<number> {
  await using baseline = await startBaseline(answer);
  const port = Number(new URL(baseline.address).port);
  const request = 'GET /held HTTP/1.1\r\nHost: bench\r\n\r\n';
  await using clients = await startBlockingClients({ port, request, count });
  const start = now();
  await fetch(`${baseline.address}/release`);
  return Math.max(...(await clients.answerTimes())) - start;
}

/** Waits until the server reports `count` waiting queries. */
async function untilWaiting(server: Server, count: number): Promise<void> {
  for (;;) {
    const metrics = await server.request('GET', '/metrics');
    const waiting = /^accord_http_waiting_queries(?:\{[^}]*\})? (\d+)$/m.exec(metrics.text)?.[1];
    if (waiting === undefined) throw new Error(`no accord_http_waiting_queries in:\n${metrics.text}`);
    if (Number(waiting) >= count) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Sends other requests one after another until `stop`, and adds their latencies to `times`. */
function startPings(server: Server, times: number[]): { stop(): Promise<void> } {
  let isStopped = false;
  const pinging = (async () => {
    while (!isStopped) {
      const start = performance.now();
      await server.request('GET', '/v1/acl/token/self');
      times.push(performance.now() - start);
    }
  })();
  return {
    stop() {
      isStopped = true;
      return pinging;
    },
  };
}
