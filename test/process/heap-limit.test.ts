/** A server with less memory than `state.rows-max` asks for: it says so, and refuses rows before they are its death. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fillTokens } from '../../bench/support/tokens.ts';
import { startServer } from '../support/process/server.ts';

/** Enough for a server to run in, and by its own reckoning for some thousand rows. */
const SMALL_HEAP = '--max-old-space-size=80 --max-semi-space-size=1';
/** More than it reckons with. */
const TOKENS = 10_000;

test('a server whose heap is small warns at its start, refuses what adds rows with 507 and the reason, and lets rows go', async () => {
  await using filled = await fillTokens(TOKENS);
  const { directory: dataDirectory } = filled;
  await using roomy = await startServer({ dataDirectory });
  assert.doesNotMatch(roomy.log(), /rows-max/);
  assert.equal(await roomy.stop(), 0);
  await using server = await startServer({ dataDirectory, environment: { NODE_OPTIONS: SMALL_HEAP } });
  const warning = server.log().match(/the heap of (\d+) MiB holds about (\d+), less than state\.rows-max \(2000000\)/);
  assert.ok(warning, server.log());
  const [figures, , rowsMax] = warning;
  assert.ok(Number(rowsMax) < TOKENS, figures);
  const { text: metrics } = await server.request('GET', '/metrics');
  assert.match(metrics, new RegExp(`^accord_state_rows_max ${rowsMax}$`, 'm'));

  const refused = await server.request('PUT', '/v1/acl/token', { body: {} });
  assert.equal(refused.status, 507);
  assert.ok(refused.text.includes(figures), refused.text);
  assert.match(refused.text, /NODE_OPTIONS=--max-old-space-size/);
  const removed = await server.request('DELETE', `/v1/acl/token/${filled.accessorId}`);
  assert.equal(removed.status, 200, removed.text);
  assert.equal(await server.stop(), 0, server.log());
});
