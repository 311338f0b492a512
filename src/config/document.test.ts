import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { settingsDocument } from './document.ts';

test('docs/settings.md is up to date with the table of settings', () => {
  const page = readFileSync(new URL('../../docs/settings.md', import.meta.url), 'utf8');
  assert.equal(page, settingsDocument(), 'run node scripts/generate-settings-doc.ts');
});
