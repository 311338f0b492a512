/** Twenty thousand random operations and complete sets, each in a dry run first. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sendRandomBulk } from '../support/team-access/random-operations.ts';

const DOCUMENTS = 20_000;

for (const kind of ['operations', 'sets'] as const) {
  test(`${DOCUMENTS} random ${kind} are answered as they deserve`, async () => {
    const met = await sendRandomBulk(kind, DOCUMENTS);
    assert.ok((met.get(200) ?? 0) > DOCUMENTS / 10);
  });
}
