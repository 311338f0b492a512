/** Runs random-operations.test.ts with 20,000 documents of each kind. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sendRandomBulk } from '../support/team-access/random-operations.ts';

const DOCUMENTS = 20_000;

for (const kind of ['operations', 'sets'] as const) {
  test(`${DOCUMENTS} random ${kind} have the outcome of their dry run`, async () => {
    const statusCounts = await sendRandomBulk(kind, DOCUMENTS);
    assert.ok((statusCounts.get(200) ?? 0) > DOCUMENTS / 10);
  });
}
