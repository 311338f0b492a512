/** A server whose heap has less capacity than `state.rows-max`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTokenDirectory } from '../../bench/support/token-directory.ts';
import { startServer } from '../support/process/server.ts';

/** A heap with a capacity of a few thousand rows. */
const SMALL_HEAP = '--max-old-space-size=80 --max-semi-space-size=1';
/** Exceeds the capacity of the small heap. */
const TOKENS = 10_000;

test('a server with a small heap logs a warning, returns 507 for new rows, and deletes rows [SRV-30]', async () => {
  await using filled = await createTokenDirectory(TOKENS);
  const { directory: dataDirectory } = filled;
  await using unlimited = await startServer({ dataDirectory });
  assert.doesNotMatch(unlimited.log(), /rows-max/);
  assert.equal(await unlimited.stop(), 0);
  await using server = await startServer({ dataDirectory, environment: { NODE_OPTIONS: SMALL_HEAP } });
  const warning = server.log().match(/the heap of (\d+) MiB holds about (\d+), less than state\.rows-max \(2000000\)/);
  assert.ok(warning, server.log());
  const [figures, , rowsMax] = warning;
  assert.ok(Number(rowsMax) < TOKENS, figures);
  const { text: metrics } = await server.request('GET', '/metrics');
  assert.match(metrics, new RegExp(`^accord_state_rows_max ${rowsMax}$`, 'm'));

  const rejected = await server.request('PUT', '/v1/acl/token', { body: {} });
  assert.equal(rejected.status, 507);
  assert.ok(rejected.text.includes(figures), rejected.text);
  assert.match(rejected.text, /NODE_OPTIONS=--max-old-space-size/);
  const removed = await server.request('DELETE', `/v1/acl/token/${filled.accessorId}`);
  assert.equal(removed.status, 200, removed.text);
  assert.equal(await server.stop(), 0, server.log());
});
