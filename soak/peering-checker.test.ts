/** The peering checker against servers with given responses. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { describe, test } from 'node:test';
import type { LinkStatus } from './check-peering-record.ts';
import { createClient } from './client.ts';
import { createIndexTracker } from './index-tracker.ts';
import { ACTIVE_MS } from './limits.ts';
import { createPeeringChecker } from './peering-checker.ts';
import { createRequestStats } from './request-stats.ts';
import type { ServerProcess } from './server-process.ts';
import { PEERINGS, type Topology } from './topology.ts';
import type { Violation } from './violation-log.ts';

const NOW_MS = 1_000_000;
const CUT: LinkStatus = { nowMs: NOW_MS, cutSinceMs: NOW_MS - ACTIVE_MS - 1, calmSinceMs: undefined };

const CALM: LinkStatus = { nowMs: NOW_MS, cutSinceMs: undefined, calmSinceMs: NOW_MS };

interface Circumstances {
  readonly status?: LinkStatus;
  readonly calmCount?: () => number | undefined;
}

/** Checks once while every server returns `body`, or the body for the path. Returns the violations. */
async function violationsOf(
  httpStatus: number,
  body: object | ((path: string) => object),
  { status = CUT, calmCount = () => undefined }: Circumstances = {},
): Promise<readonly Violation[]> {
  const server = http.createServer(({ url = '' }, response) => {
    response.writeHead(httpStatus).end(JSON.stringify(typeof body === 'function' ? body(url) : body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  const servers = (['a', 'b'] as const).map((cluster) => ({
    name: `${cluster}1`,
    cluster,
    address,
    token: '',
    isUp: true,
  }));
  const found: Violation[] = [];
  const violations = { count: 0, add: (violation: Violation): void => void found.push(violation) };
  // Has the members that the checker uses.
  const topology = {
    servers: servers as unknown as readonly ServerProcess[],
    serversOf: () => [],
  } as unknown as Topology;
  using client = createClient({
    stats: createRequestStats(),
    violations,
    indexes: createIndexTracker(),
    faultCount: () => 0,
    now: () => 0,
  });
  const options = { topology, client, violations, exportedKinds: [], linkStatus: () => status, calmCount, agreeMs: 0 };
  await createPeeringChecker(options).checkOnce(new AbortController().signal);
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
  return found;
}

describe('checkOnce while the links are cut', () => {
  test('reports every ACTIVE record', async () => {
    const found = await violationsOf(200, { State: 'ACTIVE', StreamStatus: {} });
    assert.deepEqual(
      found.map(({ server, request }) => `${server} ${request}`).sort(),
      PEERINGS.flatMap(({ names }) => [`a1 GET /v1/peering/${names.a}`, `b1 GET /v1/peering/${names.b}`]).sort(),
    );
  });

  test('reports every missing record', async () => {
    const found = await violationsOf(404, {});
    assert.deepEqual(new Set(found.map(({ rule }) => rule)), new Set(['a valid request is not rejected']));
    assert.equal(found.length, 2 * PEERINGS.length);
  });

  test('reports nothing when the records are INITIAL or the store is unavailable', async () => {
    assert.deepEqual(await violationsOf(200, { State: 'INITIAL', StreamStatus: {} }), []);
    assert.deepEqual(await violationsOf(503, { code: 'unavailable' }), []);
  });
});

describe('checkOnce without a fault', () => {
  const peering = PEERINGS[0] as (typeof PEERINGS)[number]; // Not empty.
  const oneSideInitial = (path: string): object => ({
    State: path === `/v1/peering/${peering.names.b}` ? 'INITIAL' : 'ACTIVE',
    StreamStatus: {},
  });

  test('reports a peering that is ACTIVE on one side only', async () => {
    const [found, ...others] = await violationsOf(200, oneSideInitial, { status: CALM, calmCount: () => 2 });
    assert.deepEqual(others, []);
    assert.equal(found?.rule, 'both sides are ACTIVE while no fault is active');
    assert.deepEqual([found?.server, found?.request], ['b1', `GET /v1/peering/${peering.names.b}`]);
  });

  test('reports nothing when a fault starts or is active, or when both sides are ACTIVE', async () => {
    let count = 2;
    assert.deepEqual(await violationsOf(200, oneSideInitial, { status: CALM, calmCount: () => count++ }), []);
    assert.deepEqual(await violationsOf(200, oneSideInitial, { status: CALM }), []);
    const active = { State: 'ACTIVE', StreamStatus: {} };
    assert.deepEqual(await violationsOf(200, active, { status: CALM, calmCount: () => 2 }), []);
  });
});
