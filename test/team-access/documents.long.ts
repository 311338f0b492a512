/** Twenty thousand random documents to every write of team access that takes one: see the test of the same name. */
import { test } from 'node:test';
import { sendRandomWrites } from '../support/team-access/random-documents.ts';

const DOCUMENTS = 20_000;

test(`${DOCUMENTS} random documents to every write are answered as they deserve`, async (context) => {
  for (const [endpoint, met] of await sendRandomWrites(DOCUMENTS)) {
    context.diagnostic(`${endpoint}: ${JSON.stringify(Object.fromEntries(met))}`);
  }
});
