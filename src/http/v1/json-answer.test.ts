import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { runAtOnce } from '../../state/clock/slices.ts';
import { ServiceError } from '../errors.ts';
import { ANSWER_CHARACTERS_MAX, PRETTY_CHARACTERS_MAX } from '../limits.ts';
import { JsonText, jsonList, renderJson } from './json-answer.ts';

/** Returns a JSON string of the given length, including quotes. */
const text = (characters: number): string => JSON.stringify('x'.repeat(characters - 2));

const isBadRequest = (message: RegExp) => (error: unknown) =>
  error instanceof ServiceError && error.code === 'bad-request' && message.test(error.message);

describe('jsonList', () => {
  const own = (item: string): string => item;

  test('returns the same text as JSON.stringify', () => {
    assert.equal(runAtOnce(jsonList([], own)).text, '[]');
    assert.equal(runAtOnce(jsonList(['1', '{"a":2}'], own)).text, '[1,{"a":2}]');
    const values = [1, 'a', null, { b: [2] }];
    assert.equal(renderJson(values, false).text, JSON.stringify(values));
    assert.equal(renderJson(values, true).text, `${JSON.stringify(values, null, 4)}\n`);
  });

  test('stops at the item that exceeds the limit, and throws', () => {
    const half = text(ANSWER_CHARACTERS_MAX / 2 - 2);
    assert.equal(runAtOnce(jsonList([half, half], own)).text.length, ANSWER_CHARACTERS_MAX - 1);
    let written = 0;
    const counted = (item: string): string => {
      written += 1;
      return item;
    };
    const items = Array.from({ length: 1_000 }, () => half);
    assert.throws(
      () => runAtOnce(jsonList(items, counted, 'ask for fewer with limit')),
      isBadRequest(/^The answer would be longer than 67108864 characters: ask for fewer with limit$/),
    );
    assert.equal(written, 3);
  });

  test('limits arrays of values, and has a lower limit for indented ones', () => {
    const large = 'x'.repeat(ANSWER_CHARACTERS_MAX / 4);
    assert.throws(() => renderJson([large, large, large, large], false), isBadRequest(/: ask for less of it$/));
    const indented = new JsonText(`[${text(PRETTY_CHARACTERS_MAX)}]`);
    assert.throws(
      () => renderJson(indented, true),
      isBadRequest(/longer than 16777216 characters: .* without pretty$/),
    );
    assert.equal(renderJson(indented, false).bytes, PRETTY_CHARACTERS_MAX + 2);
  });
});
