/** Two thousand random documents to every write of team access: no fault, and no change by what is refused. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sendRandomDocuments } from '../support/team-access/random-team-access.ts';

const DOCUMENTS = 2_000;

describe(`${DOCUMENTS} random documents`, () => {
  for (const terraform of [false, true]) {
    test(`are answered ${terraform ? 'with compat = terraform' : 'as they deserve'}`, async () => {
      const met = await sendRandomDocuments(DOCUMENTS, terraform);
      // A generator that only ever makes one kind of fault would prove little.
      for (const status of [200, 204, 404, 422]) {
        assert.ok((met.get(status) ?? 0) >= DOCUMENTS / 100, `${status}: ${met.get(status) ?? 0} of ${DOCUMENTS}`);
      }
    });
  }
});
