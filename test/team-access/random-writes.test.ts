/** Random documents for every write of team access with a body. No response is 5xx, and rejections change nothing. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startApi } from '../support/process/api.ts';
import { RANDOM_WRITES, sendRandomWrites } from '../support/team-access/random-writes.ts';

/** The number of documents for each write. */
const DOCUMENTS = 80;
/** See random-row-writes.test.ts and random-operations.test.ts. */
const TESTED_ELSEWHERE = /^\/api\/v2\/(team-workspaces|operations|workspaces\/:id\/team-access)/;

describe('random documents', () => {
  test('cover every write with a body', async () => {
    await using api = await startApi();
    const withBody = api.server.endpoints
      .filter(({ method, path, body }) => method !== 'GET' && body !== undefined && path.startsWith('/api/v2/'))
      .filter(({ path }) => !TESTED_ELSEWHERE.test(path))
      .map(({ method, path }) => `${method} ${path.slice('/api/v2'.length)}`);
    assert.deepEqual(RANDOM_WRITES.map(({ endpoint }) => endpoint).toSorted(), withBody.toSorted());
  });

  test(`${DOCUMENTS} for each write get no 5xx, and rejected ones change nothing [V1-51]`, async () => {
    for (const [endpoint, statusCounts] of await sendRandomWrites(DOCUMENTS)) {
      const countOf = (status: number): number => statusCounts.get(status) ?? 0;
      // Documents with a single kind of fault would test little.
      for (const count of [countOf(200) + countOf(201) + countOf(204), countOf(404), countOf(422)]) {
        assert.ok(count >= DOCUMENTS / 40, `${endpoint}: ${JSON.stringify([...statusCounts])}`);
      }
    }
  });
});
