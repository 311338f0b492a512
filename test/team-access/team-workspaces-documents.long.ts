/** Twenty thousand random documents to every write of team access: no fault, and no change by what is refused. */
import { describe, test } from 'node:test';
import { sendRandomDocuments } from '../support/team-access/random-team-access.ts';

const DOCUMENTS = 20_000;

describe(`${DOCUMENTS} random documents`, () => {
  for (const terraform of [false, true]) {
    test(`are answered ${terraform ? 'with compat = terraform' : 'as they deserve'}`, async (context) => {
      const met = await sendRandomDocuments(DOCUMENTS, terraform);
      context.diagnostic(JSON.stringify(Object.fromEntries(met)));
    });
  }
});
