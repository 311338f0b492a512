import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { JsonError, parseStrictJson } from './strict-json.ts';

const parse = (text: string): unknown => parseStrictJson(Buffer.from(text));

describe('half of a surrogate pair', () => {
  for (const text of [
    String.raw`"\ud800"`,
    String.raw`"\uDC00"`,
    String.raw`"x\uDBFFx"`,
    String.raw`"\ud83d\ud83d\ude00"`,
    String.raw`"\ude00\ud83d"`,
    String.raw`"\\\ud800"`,
    String.raw`{"\ud800":1}`,
    String.raw`["\ud83d","\ude00"]`,
    String.raw`"\ud83d😀"`,
  ]) {
    it(`is rejected in ${text} [V1-100]`, () => {
      assert.throws(
        () => parse(text),
        (error) => error instanceof JsonError && error.hasLoneSurrogate,
      );
    });
  }

  for (const text of [String.raw`"\ud83d\ude00"`, String.raw`"\\ud800"`, '"😀"', String.raw`"\u00e4\n\ud83d\ude00"`]) {
    it(`is not found in ${text}`, () => assert.equal(parse(text), JSON.parse(text)));
  }

  it('is found exactly where the value contains it', () => {
    const unit = fc.constantFrom('\\ud83d', '\\ude00', '\\\\', 'u', '\\u0041', '😀');
    fc.assert(
      fc.property(fc.array(unit, { maxLength: 6 }), (units) => {
        const text = `"${units.join('')}"`;
        const isWhole = String(JSON.parse(text)).isWellFormed();
        if (isWhole) assert.equal(parse(text), JSON.parse(text));
        else assert.throws(() => parse(text), JsonError);
      }),
    );
  });
});
