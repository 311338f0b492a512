/** Many seeded damages of SQLite databases and logs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tryDamages } from '../support/state/database-damage.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const TRIALS = 500;

for (const seed of [1, 2, 3]) {
  test(`a database with one of ${TRIALS} damages of seed ${seed} is read correctly or refused [SQLITE-47]`, async (context) => {
    await using directory = await temporaryDirectory();
    const counts = tryDamages({ directory: directory.path, trials: TRIALS, seed });
    context.diagnostic(JSON.stringify(counts));
    assert.ok(counts.right > 0 && counts.refused > 0);
  });
}
