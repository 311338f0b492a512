/** A server whose heap has room for few rows. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTokenDirectory } from '../../bench/support/token-directory.ts';
import { StartError, startServer } from '../support/process/server.ts';

/** A heap with room for about 19,000 tokens. */
const SMALL_HEAP = '--max-old-space-size=64';
/** More than the small heap accepts, and less than it can load. */
const TOKENS = 20_500;
/** The largest page of tokens that a server with the small heap returns. */
const PAGE_TOKENS = 4_000;

test('a server with a small heap serves reads, returns 507 for new rows, and deletes rows [SRV-30] [STATE-52]', async () => {
  await using filled = await createTokenDirectory(TOKENS);
  const { directory: dataDirectory } = filled;
  await using server = await startServer({ dataDirectory, environment: { NODE_OPTIONS: SMALL_HEAP } });
  const { text: metrics } = await server.request('GET', '/metrics');
  const [bytes = 0, bytesMax = 0] = ['accord_state_bytes', 'accord_state_bytes_max'].map((name) =>
    Number(metrics.match(new RegExp(`^${name} (\\d+)`, 'm'))?.[1]),
  );
  assert.ok(bytes > bytesMax && bytesMax > 2 ** 23, `${bytes} of ${bytesMax} bytes`);

  const rejected = await server.request('PUT', '/v1/acl/token', { body: {} });
  assert.equal(rejected.status, 507);
  assert.match(
    rejected.text,
    /rows of the state take \d+ of \d+ MiB .* the heap of 64 MiB .*NODE_OPTIONS=--max-old-space-size/,
  );
  const removed = await server.request('DELETE', `/v1/acl/token/${filled.accessorId}`);
  assert.equal(removed.status, 200, removed.text);

  const tooLong = await server.request('GET', '/v1/acl/tokens');
  assert.equal(tooLong.status, 400, 'the whole list is longer than the response limit of this heap');
  const pages = Array.from({ length: 8 }, (_, i) => server.request('GET', `/v1/acl/tokens?limit=${PAGE_TOKENS - i}`));
  for (const { status } of await Promise.all(pages)) assert.ok(status === 200 || status === 503, `${status}`);
  assert.equal(await server.stop(), 0, server.log());
});

test('a server does not start with less heap than the minimum, or than its rows need [SRV-30] [STATE-113]', async () => {
  await using filled = await createTokenDirectory(2 * TOKENS);
  const { directory: dataDirectory } = filled;
  for (const [mebibytes, reason] of [
    [48, /heap may use 48 MiB, but a server needs at least 64/],
    [64, /the rows in the store need more than the \d+ MiB that this server can load: the heap of 64 MiB/],
  ] as const) {
    const environment = { NODE_OPTIONS: `--max-old-space-size=${mebibytes}` };
    await assert.rejects(
      startServer({ dataDirectory, environment }),
      (error) => error instanceof StartError && error.exitCode === 1 && reason.test(error.log),
    );
  }
});
