/** The look at both ends, against servers that say what the test says. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { describe, test } from 'node:test';
import { createClient } from './client.ts';
import { createIndexes } from './indexes.ts';
import type { LinkFacts } from './judge-record.ts';
import { ACTIVE_MS } from './limits.ts';
import { createEnds } from './peering-ends.ts';
import type { Seat } from './seat.ts';
import { createTally } from './tally.ts';
import type { Violation } from './violation.ts';
import { LINKS, type World } from './world.ts';

const AT_MS = 1_000_000;
const CUT: LinkFacts = { atMs: AT_MS, cutSinceMs: AT_MS - ACTIVE_MS - 1, calmSinceMs: undefined };

const CALM: LinkFacts = { atMs: AT_MS, cutSinceMs: undefined, calmSinceMs: AT_MS };

interface Circumstances {
  readonly facts?: LinkFacts;
  readonly quiet?: () => number | undefined;
}

/** What a look finds where every server answers so, or so for a path. */
async function findings(
  status: number,
  body: object | ((path: string) => object),
  { facts = CUT, quiet = () => undefined }: Circumstances = {},
): Promise<readonly Violation[]> {
  const server = http.createServer(({ url = '' }, response) => {
    response.writeHead(status).end(JSON.stringify(typeof body === 'function' ? body(url) : body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
  const seats = (['a', 'b'] as const).map((cluster) => ({
    name: `${cluster}1`,
    cluster,
    address,
    token: '',
    isUp: true,
  }));
  const found: Violation[] = [];
  const violations = { count: 0, add: (violation: Violation): void => void found.push(violation) };
  const world = { seats: seats as unknown as readonly Seat[], of: () => [] } as unknown as World; // As far as it is used.
  using client = createClient({
    tally: createTally(),
    violations,
    indexes: createIndexes(),
    faultCount: () => 0,
    now: () => 0,
  });
  const parts = { world, client, violations, exported: [], facts: () => facts, quiet, agreeMs: 0 };
  await createEnds(parts).look(new AbortController().signal);
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
  return found;
}

describe('a look at both ends of the peerings whose links are cut', () => {
  test('finds every record that says ACTIVE', async () => {
    const found = await findings(200, { State: 'ACTIVE', StreamStatus: {} });
    assert.deepEqual(
      found.map(({ where, asked }) => `${where} ${asked}`).sort(),
      LINKS.flatMap(({ names }) => [`a1 GET /v1/peering/${names.a}`, `b1 GET /v1/peering/${names.b}`]).sort(),
    );
  });

  test('finds every record that is not there', async () => {
    const found = await findings(404, {});
    assert.deepEqual(new Set(found.map(({ rule }) => rule)), new Set(['a valid request is not refused']));
    assert.equal(found.length, 2 * LINKS.length);
  });

  test('finds nothing where they say INITIAL, or the store is away', async () => {
    assert.deepEqual(await findings(200, { State: 'INITIAL', StreamStatus: {} }), []);
    assert.deepEqual(await findings(503, { code: 'unavailable' }), []);
  });
});

describe('a look at both ends of the peerings while nothing is in their way', () => {
  const link = LINKS[0] as (typeof LINKS)[number]; // There are two.
  const oneEndIsDown = (path: string): object => ({
    State: path === `/v1/peering/${link.names.b}` ? 'INITIAL' : 'ACTIVE',
    StreamStatus: {},
  });

  test('finds one that is ACTIVE at one end only', async () => {
    const [found, ...others] = await findings(200, oneEndIsDown, { facts: CALM, quiet: () => 2 });
    assert.deepEqual(others, []);
    assert.equal(found?.rule, 'both ends are ACTIVE while nothing is in the way');
    assert.deepEqual([found?.where, found?.asked], ['b1', `GET /v1/peering/${link.names.b}`]);
  });

  test('finds nothing where a fault begins meanwhile, or is under way, or where both are ACTIVE', async () => {
    let count = 2;
    assert.deepEqual(await findings(200, oneEndIsDown, { facts: CALM, quiet: () => count++ }), []);
    assert.deepEqual(await findings(200, oneEndIsDown, { facts: CALM }), []);
    assert.deepEqual(await findings(200, { State: 'ACTIVE', StreamStatus: {} }, { facts: CALM, quiet: () => 2 }), []);
  });
});
