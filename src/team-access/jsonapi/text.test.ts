import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { workspaceSettings } from '../documents/workspace-settings.ts';
import type { Fault } from './errors.ts';
import { readEmail, readNullableText, readText } from './read-attributes.ts';
import { readSettings } from './settings.ts';

/** Where a text can stand, and what reads it there. */
const places: readonly (readonly [string, (text: string, faults: Fault[]) => unknown])[] = [
  ['an attribute of its own', (text, faults) => readText({ description: text }, 'description', faults)],
  ['one that can be taken away', (text, faults) => readNullableText({ description: text }, 'description', faults)],
  ['an e-mail address', (text, faults) => readEmail({ email: `${text}@example.org` }, faults, true)],
  ['a setting', (text, faults) => readSettings(workspaceSettings, { description: text }, faults)['description']],
  [
    'a list among the settings',
    (text, faults) => readSettings(workspaceSettings, { 'trigger-prefixes': ['a', text] }, faults)['trigger-prefixes'],
  ],
  [
    'a name in a setting',
    (text, faults) =>
      readSettings(workspaceSettings, { 'setting-overwrites': { [text]: true } }, faults)['setting-overwrites'],
  ],
];

describe('a text from strangers', () => {
  for (const [place, read] of places) {
    test(`as ${place} has no control characters and no halves of characters`, () => {
      for (const text of ['a\0b', '\u001b[2J', 'a\u007f', '\u0085', '\ud800', 'a\udc00b', '\udc00\ud800']) {
        const faults: Fault[] = [];
        assert.equal(read(text, faults), undefined, JSON.stringify(text));
        assert.deepEqual(
          faults.map(({ code }) => code),
          ['invalid-attribute'],
          JSON.stringify(text),
        );
      }
    });

    test(`as ${place} has any other characters`, () => {
      for (const text of ['\u{1f511}', 'é-ß', '東京']) {
        const faults: Fault[] = [];
        assert.notEqual(read(text, faults), undefined, text);
        assert.deepEqual(faults, []);
      }
    });
  }

  test('may have several lines', () => {
    const faults: Fault[] = [];
    assert.equal(readText({ description: 'one\r\n\ttwo\n' }, 'description', faults), 'one\r\n\ttwo\n');
    assert.deepEqual(readSettings(workspaceSettings, { description: 'a\nb\n' }, faults), { description: 'a\nb\n' });
    assert.deepEqual(faults, []);
  });
});
