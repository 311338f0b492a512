/** Runs random-writes.test.ts with 20,000 documents per write. */
import { test } from 'node:test';
import { sendRandomWrites } from '../support/team-access/random-writes.ts';

const DOCUMENTS = 20_000;

test(`${DOCUMENTS} random documents for every write get no 5xx, and rejected ones change nothing`, async (context) => {
  for (const [endpoint, statusCounts] of await sendRandomWrites(DOCUMENTS)) {
    context.diagnostic(`${endpoint}: ${JSON.stringify(Object.fromEntries(statusCounts))}`);
  }
});
