import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ErrorObject } from './errors.ts';
import { readEmail, readNullableText, readText } from './read-attributes.ts';
import { booleanMapSetting, nullableTextSetting, readSettings, textListSetting } from './settings.ts';

const settings = {
  description: nullableTextSetting,
  'trigger-prefixes': textListSetting,
  'setting-overwrites': booleanMapSetting,
};

/** Every place of a text in a body, with its reader. */
const places: readonly (readonly [string, (text: string, errors: ErrorObject[]) => unknown])[] = [
  ['an attribute', (text, errors) => readText({ description: text }, 'description', errors)],
  ['a nullable attribute', (text, errors) => readNullableText({ description: text }, 'description', errors)],
  ['an email address', (text, errors) => readEmail({ email: `${text}@example.org` }, errors, true)],
  ['a setting', (text, errors) => readSettings(settings, { description: text }, errors)['description']],
  [
    'a list setting',
    (text, errors) => readSettings(settings, { 'trigger-prefixes': ['a', text] }, errors)['trigger-prefixes'],
  ],
  [
    'a key in a setting',
    (text, errors) => readSettings(settings, { 'setting-overwrites': { [text]: true } }, errors)['setting-overwrites'],
  ],
];

describe('a text [DOC-9]', () => {
  for (const [place, read] of places) {
    test(`as ${place} may not contain control characters and unpaired surrogates`, () => {
      for (const text of ['a\0b', '\u001b[2J', 'a\u007f', '\u0085', '\ud800', 'a\udc00b', '\udc00\ud800']) {
        const errors: ErrorObject[] = [];
        assert.equal(read(text, errors), undefined, JSON.stringify(text));
        assert.deepEqual(
          errors.map(({ code }) => code),
          ['invalid-attribute'],
          JSON.stringify(text),
        );
      }
    });

    test(`as ${place} may contain other characters`, () => {
      for (const text of ['\u{1f511}', 'é-ß', '東京']) {
        const errors: ErrorObject[] = [];
        assert.notEqual(read(text, errors), undefined, text);
        assert.deepEqual(errors, []);
      }
    });
  }

  test('may contain several lines', () => {
    const errors: ErrorObject[] = [];
    assert.equal(readText({ description: 'one\r\n\ttwo\n' }, 'description', errors), 'one\r\n\ttwo\n');
    assert.deepEqual(readSettings(settings, { description: 'a\nb\n' }, errors), { description: 'a\nb\n' });
    assert.deepEqual(errors, []);
  });
});
