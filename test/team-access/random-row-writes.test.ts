/** Random documents for the writes of rows. No response is 5xx, and rejections change nothing. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sendRandomRowWrites } from '../support/team-access/random-row-writes.ts';

const DOCUMENTS = 2_000;

describe(`${DOCUMENTS} random writes of rows`, () => {
  for (const terraform of [false, true]) {
    test(`get no 5xx ${terraform ? 'with' : 'without'} compat: terraform`, async () => {
      const statusCounts = await sendRandomRowWrites(DOCUMENTS, terraform);
      // Documents with a single kind of fault would test little.
      for (const status of [200, 204, 404, 422]) {
        const count = statusCounts.get(status) ?? 0;
        assert.ok(count >= DOCUMENTS / 100, `${status}: ${count} of ${DOCUMENTS}`);
      }
    });
  }
});
