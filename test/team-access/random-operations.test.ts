/**
 * Random operations and complete sets, each sent as a dry run first. No response is 5xx, rejections change nothing, and
 * the dry run has the outcome of the request [TEAM-86].
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sendRandomBulk } from '../support/team-access/random-operations.ts';

const DOCUMENTS = 400;

describe(`${DOCUMENTS} random documents have the same outcome as their dry run [TEAM-86]:`, () => {
  for (const kind of ['operations', 'sets'] as const) {
    test(kind, async () => {
      const statusCounts = await sendRandomBulk(kind, DOCUMENTS);
      // Documents with a single kind of fault would test little.
      for (const status of [200, 404, 422]) {
        const count = statusCounts.get(status) ?? 0;
        assert.ok(count >= DOCUMENTS / 50, `${status}: ${count} of ${DOCUMENTS}`);
      }
    });
  }
});
