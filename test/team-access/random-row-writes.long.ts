/** Runs random-row-writes.test.ts with 20,000 documents. */
import { describe, test } from 'node:test';
import { sendRandomRowWrites } from '../support/team-access/random-row-writes.ts';

const DOCUMENTS = 20_000;

describe(`${DOCUMENTS} random writes of rows`, () => {
  for (const terraform of [false, true]) {
    test(`get no 5xx ${terraform ? 'with' : 'without'} compat: terraform`, async (context) => {
      const statusCounts = await sendRandomRowWrites(DOCUMENTS, terraform);
      context.diagnostic(JSON.stringify(Object.fromEntries(statusCounts)));
    });
  }
});
