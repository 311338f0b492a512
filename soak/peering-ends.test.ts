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

/** What a look finds where every server answers so. */
async function findings(status: number, body: object): Promise<readonly Violation[]> {
  const server = http.createServer((_, response) => response.writeHead(status).end(JSON.stringify(body)));
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
  await createEnds({ world, client, violations, exported: [], facts: () => CUT }).look(new AbortController().signal);
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
