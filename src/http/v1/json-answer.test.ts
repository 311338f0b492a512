import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ServiceError } from '../errors.ts';
import { ANSWER_CHARACTERS_MAX, PRETTY_CHARACTERS_MAX } from '../limits.ts';
import { JsonText, jsonList, render } from './json-answer.ts';

/** A JSON string of so many characters, quotes included. */
const text = (characters: number): string => JSON.stringify('x'.repeat(characters - 2));

const refuses = (message: RegExp) => (error: unknown) =>
  error instanceof ServiceError && error.code === 'bad-request' && message.test(error.message);

describe('a list as an answer', () => {
  const own = (item: string): string => item;

  test('is written item by item', () => {
    assert.equal(jsonList([], own).text, '[]');
    assert.equal(jsonList(['1', '{"a":2}'], own).text, '[1,{"a":2}]');
    const values = [1, 'a', null, { b: [2] }];
    assert.equal(render(values, false).text, JSON.stringify(values));
    assert.equal(render(values, true).text, `${JSON.stringify(values, null, 4)}\n`);
  });

  test('is refused before it is longer than an answer may be, and no further item is written', () => {
    const half = text(ANSWER_CHARACTERS_MAX / 2 - 2);
    assert.equal(jsonList([half, half], own).text.length, ANSWER_CHARACTERS_MAX - 1);
    let written = 0;
    const counted = (item: string): string => {
      written += 1;
      return item;
    };
    const items = Array.from({ length: 1_000 }, () => half);
    assert.throws(
      () => jsonList(items, counted, 'ask for fewer with limit'),
      refuses(/^The answer would be longer than 67108864 characters: ask for fewer with limit$/),
    );
    assert.equal(written, 3);
  });

  test('of values is refused likewise, and indented sooner', () => {
    const large = 'x'.repeat(ANSWER_CHARACTERS_MAX / 4);
    assert.throws(() => render([large, large, large, large], false), refuses(/: ask for less of it$/));
    const indented = new JsonText(`[${text(PRETTY_CHARACTERS_MAX)}]`);
    assert.throws(() => render(indented, true), refuses(/longer than 16777216 characters: .* without pretty$/));
    assert.equal(render(indented, false).bytes, PRETTY_CHARACTERS_MAX + 2);
  });
});
