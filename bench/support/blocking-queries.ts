/** Many blocking queries of one thing, answered after a change: beside bare `node:http` that answers as many held requests. */
import { type Answer, type Server, startServer } from '../../test/support/process/server.ts';
import { startBaseline } from './baseline-server.ts';
import { startBlockingClients } from './blocking-clients.ts';
import { median, percentile } from './figures.ts';
import { residentBytes } from './resident-memory.ts';

const ROUNDS = 5;

export interface BlockingQueryLoad {
  readonly count: number;
  /** What they read. */
  readonly path: string;
  /** Makes what they read, before they come. */
  readonly prepare?: (server: Server) => Promise<unknown>;
  /** Changes it. */
  readonly change: (server: Server, round: number) => Promise<unknown>;
}

/** Medians of the rounds; `pingMs` are all of them. */
export interface BlockingQueryResult {
  /** Until bare `node:http` has answered the last of as many. */
  readonly baselineMs: number;
  /** Until the last reader is answered. */
  readonly ms: number;
  /** Until 99 of 100 readers are. */
  readonly p99Ms: number;
  readonly bytesEach: number;
  /** What another request took meanwhile. */
  readonly pingMs: readonly number[];
}

/** Each round has servers of its own. */
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
    await using server = await startServer();
    await prepare?.(server);
    const answer = await server.request('GET', path);
    if (answer.status !== 200) throw new Error(answer.text);
    baselineMs.push(await baselineAnswerMs(answer, count));
    const before = residentBytes(server.process.pid ?? 0);
    const query = `${path}?index=${answer.headers['x-service-index']}&wait=10m`;
    await using holders = await startBlockingClients({
      port: Number(new URL(server.address).port),
      request: `GET ${query} HTTP/1.1\r\nHost: bench\r\nX-Service-Token: ${server.token}\r\n\r\n`,
      count,
    });
    await settled(server, count);
    bytesEach.push((residentBytes(server.process.pid ?? 0) - before) / count);
    const pinging = ping(server, pingMs);
    const start = now();
    await change(server, round);
    const times = (await holders.answerTimes()).map((time) => time - start);
    ms.push(Math.max(...times));
    p99Ms.push(percentile(times, 0.99));
    pinging.stop = true;
    await pinging.done;
  }
  return { baselineMs: median(baselineMs), ms: median(ms), p99Ms: median(p99Ms), bytesEach: median(bytesEach), pingMs };
}

/** On a clock that processes share. */
const now = (): number => performance.timeOrigin + performance.now();

async function baselineAnswerMs(answer: Answer, count: number): Promise<number> {
  await using baseline = await startBaseline(answer);
  const port = Number(new URL(baseline.address).port);
  await using holders = await startBlockingClients({
    port,
    request: 'GET /held HTTP/1.1\r\nHost: bench\r\n\r\n',
    count,
  });
  const start = now();
  await fetch(`${baseline.address}/release`);
  return Math.max(...(await holders.answerTimes())) - start;
}

/** Waits until every held query has been read and is waiting. */
async function settled(server: Server, count: number): Promise<void> {
  for (;;) {
    const metrics = await server.request('GET', '/metrics');
    const waiting = /^accord_http_waiting_queries(?:\{[^}]*\})? (\d+)$/m.exec(metrics.text)?.[1];
    if (waiting === undefined) throw new Error(`no accord_http_waiting_queries in:\n${metrics.text}`);
    if (Number(waiting) >= count) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Asks for something else again and again until it is stopped. */
function ping(server: Server, times: number[]): { stop: boolean; done: Promise<void> } {
  const pinging = { stop: false, done: Promise.resolve() };
  pinging.done = (async () => {
    while (!pinging.stop) {
      const start = performance.now();
      await server.request('GET', '/v1/acl/token/self');
      times.push(performance.now() - start);
    }
  })();
  return pinging;
}
