/** Writes docs/settings.md from the table of settings. With `--check`, only reports whether it is up to date. */
import { readFileSync, writeFileSync } from 'node:fs';
import { settingsDocument } from '../src/config/document.ts';

const page = new URL('../docs/settings.md', import.meta.url);

if (!process.argv.includes('--check')) {
  writeFileSync(page, settingsDocument());
} else if (readFileSync(page, 'utf8') !== settingsDocument()) {
  console.error('docs/settings.md is out of date: run node scripts/generate-settings-doc.ts');
  process.exitCode = 1;
}
