/** `kill -9` between the steps that change files. `kill-steps.long.ts` kills at every step. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { killDuringMigration, killDuringOfflineExport, killDuringRebuild } from '../support/process/kill-scenarios.ts';

/** Kills of each program, spread over its steps. */
const KILLS = 3;

describe('a process that is killed', { timeout: 120_000 }, () => {
  test('during the migration of a database leaves one that the next start opens [SQLITE-22]', async () => {
    assert.ok((await killDuringMigration({ kills: KILLS })) > KILLS);
  });

  test('during a rebuild leaves what the next rebuild completes [SQLITE-55]', async () => {
    assert.ok((await killDuringRebuild({ kills: KILLS })) > KILLS);
  });

  test('during an offline export leaves the database, and a partial file that the next export removes [SQLITE-54] [SRV-106]', async () => {
    assert.ok((await killDuringOfflineExport({ kills: 2 })) > 2);
  });
});
