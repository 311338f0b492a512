/** `kill -9` at every step that changes files. */
import { test } from 'node:test';
import {
  killDuringMigration,
  killDuringOfflineExport,
  killDuringRebuild,
  killDuringRecovery,
} from '../support/process/kill-scenarios.ts';

for (const [name, scenario] of Object.entries({
  'the migration of a database': killDuringMigration,
  'a rebuild': killDuringRebuild,
  'an offline export': killDuringOfflineExport,
  '--recover': killDuringRecovery,
})) {
  test(`kill -9 at each step of ${name} loses nothing and leaves no files`, async (context) => {
    context.diagnostic(`${await scenario()} steps`);
  });
}
