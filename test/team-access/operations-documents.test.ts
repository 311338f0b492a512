/** Random operations and complete sets: no fault, no change by what is refused, and a dry run tells what then happens. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sendRandomBulk } from '../support/team-access/random-operations.ts';

const DOCUMENTS = 400;

describe(`${DOCUMENTS} random documents, each in a dry run first:`, () => {
  for (const kind of ['operations', 'sets'] as const) {
    test(kind, async () => {
      const met = await sendRandomBulk(kind, DOCUMENTS);
      // A generator that only ever makes one kind of fault would prove little.
      for (const status of [200, 404, 422]) {
        assert.ok((met.get(status) ?? 0) >= DOCUMENTS / 50, `${status}: ${met.get(status) ?? 0} of ${DOCUMENTS}`);
      }
    });
  }
});
