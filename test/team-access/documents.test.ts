/** Random documents to every write of team access that takes one: no fault, and no change by what is refused. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startApi } from '../support/process/api.ts';
import { RANDOM_WRITES, sendRandomWrites } from '../support/team-access/random-documents.ts';

/** For each write. */
const DOCUMENTS = 80;
/** Rows, and what changes many at once, have documents of their own. */
const ELSEWHERE = /^\/api\/v2\/(team-workspaces|operations|workspaces\/:id\/team-access)/;

describe('random documents', () => {
  test('are sent to every write that takes one', async () => {
    await using api = await startApi();
    const taking = api.server.endpoints
      .filter(({ method, path, body }) => method !== 'GET' && body !== undefined && path.startsWith('/api/v2/'))
      .filter(({ path }) => !ELSEWHERE.test(path))
      .map(({ method, path }) => `${method} ${path.slice('/api/v2'.length)}`);
    assert.deepEqual(RANDOM_WRITES.map(({ endpoint }) => endpoint).toSorted(), taking.toSorted());
  });

  test(`${DOCUMENTS} to each are answered as they deserve`, async () => {
    for (const [endpoint, met] of await sendRandomWrites(DOCUMENTS)) {
      const done = (met.get(200) ?? 0) + (met.get(201) ?? 0) + (met.get(204) ?? 0);
      // A generator that only ever makes one kind of fault would prove little.
      for (const count of [done, met.get(404) ?? 0, met.get(422) ?? 0]) {
        assert.ok(count >= DOCUMENTS / 40, `${endpoint}: ${JSON.stringify([...met])}`);
      }
    }
  });
});
