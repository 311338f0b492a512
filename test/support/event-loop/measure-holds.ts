/** Sends the largest requests to a server, one after another, and measures how long each holds the event loop. */
import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { OpenApi } from '../../../src/http/openapi/openapi.ts';
import type { Answer } from '../process/server.ts';
import { type LargestRequest, largestRemovals, largestWrites, readsAndRefusals } from './largest-requests.ts';
import type { LargestSize, LargestState } from './largest-state.ts';
import type { MeasuredServer } from './measured-server.ts';

export interface Hold {
  readonly name: string;
  readonly status: number;
  /** CPU time of the main thread, in milliseconds. */
  readonly holdMs: number;
}

export interface Measurement {
  /** The longest first. */
  readonly holds: readonly Hold[];
  /** Times of `/healthz`, asked every 20 ms, in milliseconds, in ascending order. */
  readonly healthMs: readonly number[];
}

/** Interval of the requests to `/healthz`. */
const HEALTH_MS = 20;
/** Attempts for one request that changes nothing. The least hold counts, because a garbage collection is incidental. */
const ATTEMPTS = 3;

export async function measureHolds(
  measured: MeasuredServer,
  state: LargestState,
  size: LargestSize,
  boundMs: number,
): Promise<Measurement> {
  const { server } = measured;
  const tokens = { 'acl-token': server.token, owner: state.ownerToken, member: state.memberToken };
  const send = ({ method, path, by, body, contentType }: LargestRequest): Promise<Answer> =>
    server.request(method, path, {
      token: null,
      ...(body !== undefined && { body }),
      headers: {
        authorization: `Bearer ${tokens[by]}`,
        ...(contentType !== undefined && { 'content-type': contentType }),
      },
      signal: AbortSignal.timeout(120_000),
    });
  const describe = async (api: string): Promise<OpenApi> => (await server.request('GET', `${api}/openapi.json`)).json();
  const reads = readsAndRefusals(await describe('/v1'), await describe('/api/v2'));
  const writes = [...largestWrites(size), ...largestRemovals()];
  const healthMs: number[] = [];
  const stop = new AbortController();
  const health = askHealth(measured, healthMs, stop.signal);
  const holds: Hold[] = [];
  const measure = async (request: LargestRequest, attempts: number): Promise<void> => {
    let holdMs = Number.POSITIVE_INFINITY;
    let status = 0;
    for (let attempt = 0; attempt < attempts && holdMs > boundMs; attempt++) {
      await measured.longestHoldMs();
      ({ status } = await send(request));
      holdMs = Math.min(holdMs, await measured.longestHoldMs());
    }
    assert.ok(status < 500 || status === 503, `${request.name}: ${status}`);
    holds.push({ name: request.name, status, holdMs });
  };
  for (const request of reads) await measure(request, ATTEMPTS);
  for (const request of writes) await measure(request, 1);
  stop.abort();
  await health;
  return { holds: holds.toSorted((a, b) => b.holdMs - a.holdMs), healthMs: healthMs.toSorted((a, b) => a - b) };
}

async function askHealth({ server }: MeasuredServer, times: number[], signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const start = performance.now();
    const { status } = await server.request('GET', '/healthz', { token: null });
    assert.equal(status, 200);
    times.push(performance.now() - start);
    await delay(HEALTH_MS);
  }
}

/** Returns the measurement as a table of the longest holds. */
export function tableOf({ holds, healthMs }: Measurement, rows = 25): string {
  const lines = holds
    .slice(0, rows)
    .map(({ name, status, holdMs }) => `${holdMs.toFixed(1).padStart(8)} ms  ${status}  ${name}`);
  const quantile = (share: number): string => (healthMs[Math.floor(healthMs.length * share)] ?? 0).toFixed(1);
  return [
    ...lines,
    `/healthz: p50 ${quantile(0.5)} ms, p99 ${quantile(0.99)} ms, longest ${quantile(0.99999)} ms`,
  ].join('\n');
}
