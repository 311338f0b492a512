import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { runAtOnce } from '../../state/clock/slices.ts';
import { BODY_DEPTH_MAX, BODY_FIELDS_MAX, BULK_STRING_BYTES_MAX, BULK_VALUES_MAX } from '../limits.ts';
import { parseJsonInSlices, stringifyInSlices } from './sliced-json.ts';
import { JsonError, parseStrictJson } from './strict-json.ts';

/** Small enough that random values are divided at every level. */
const PIECE_BYTES = 8;

function parse(text: string | Buffer, pieceBytes?: number): { readonly value: unknown; readonly slices: number } {
  const steps = parseJsonInSlices(Buffer.from(text), pieceBytes);
  for (let slices = 1; ; slices++) {
    const { done, value } = steps.next();
    if (done === true) return { value, slices };
  }
}

/** Returns the value, or `undefined` if a parser rejects the text. */
function valueOrNone(run: () => unknown): unknown {
  try {
    return { value: run() };
  } catch (error) {
    assert.ok(error instanceof JsonError, String(error));
    return undefined;
  }
}

const assertParsedAlike = (text: string): void =>
  assert.deepEqual(
    valueOrNone(() => parse(text, PIECE_BYTES).value),
    valueOrNone(() => parseStrictJson(Buffer.from(text))),
    text,
  );

describe('parseJsonInSlices', () => {
  it('returns what the parser of small bodies returns [TEAM-111]', () => {
    fc.assert(fc.property(fc.json({ maxDepth: 6 }), assertParsedAlike));
    fc.assert(fc.property(fc.jsonValue(), (value) => assertParsedAlike(JSON.stringify(value, null, 3))));
  });

  it('rejects what the parser of small bodies rejects [TEAM-111]', () => {
    const change = fc.tuple(
      fc.json({ maxDepth: 4 }),
      fc.nat(),
      fc.constantFrom('', ',', ':', '"', '[', ']', '{}', '0'),
    );
    fc.assert(
      fc.property(change, ([text, position, inserted]) => {
        const at = position % (text.length + 1);
        assertParsedAlike(text.slice(0, at) + inserted + text.slice(at));
        assertParsedAlike(text.slice(0, at) + inserted + text.slice(at + 1));
      }),
      { numRuns: 1_000 },
    );
  });

  const cases = [
    '[1234567,,1234567]',
    '[,1234567,1234567]',
    '[1234567,1234567,]',
    '{"abcdefgh":1,"abcdefgh":2}',
    '{"abcdefgh":[1,2,3,4,5],"abcdefgh":[1,2,3,4,5]}',
    '{"abcdefgh":1,"\\u0061bcdefgh":[1,2,3,4,5]}',
    '{"__proto__":[1,2,3,4,5],"a":"bcdefgh"}',
    '{[1,2,3,4,5]}',
    '[1,2,3,4,5}',
    '[1,2,3,4,5] 1',
    '["abcdefgh',
    '"abcdefghijkl"',
    '123456789012',
    `${'['.repeat(BODY_DEPTH_MAX)}${']'.repeat(BODY_DEPTH_MAX)}`,
    `${'['.repeat(BODY_DEPTH_MAX + 1)}${']'.repeat(BODY_DEPTH_MAX + 1)}`,
    '{ "a" : [ 1 , 2 , 3 ] , "b" : { "c" : "defghijkl" } }',
  ];
  for (const text of cases) it(`treats ${text} like the parser of small bodies`, () => assertParsedAlike(text));

  it('pauses while it parses a large body [TEAM-111]', () => {
    const items = Array.from({ length: 20_000 }, (_, i) => ({ type: 'teams', id: `team-${i}` }));
    const { value, slices } = parse(JSON.stringify({ data: items }));
    assert.deepEqual(value, { data: items });
    assert.ok(slices > 20, `${slices} slices`);
  });

  it('rejects more values, fields and text than a bulk body may have [TEAM-111]', () => {
    const fields = Array.from({ length: BODY_FIELDS_MAX + 1 }, (_, i) => `"key${i}":"${'x'.repeat(50)}"`);
    const tooMany: [string, RegExp][] = [
      [`[${'0,'.repeat(BULK_VALUES_MAX + 1)}0]`, /more than 1000000 values/],
      [`{${fields.join()}}`, /more than 1000 fields/],
      [`["${'x'.repeat(BULK_STRING_BYTES_MAX)}"]`, /a text of more than 1048576 bytes/],
    ];
    for (const [text, message] of tooMany) assert.throws(() => parse(text), message);
    assert.throws(() => parse(Buffer.from([0x22, 0xff, 0x22])), /not valid UTF-8/);
  });
});

describe('stringifyInSlices', () => {
  it('returns what JSON.stringify returns', () => {
    const same = (value: unknown): void =>
      assert.equal(runAtOnce(stringifyInSlices(value)).toString(), JSON.stringify(value));
    fc.assert(fc.property(fc.jsonValue({ maxDepth: 8 }), same));
    same({
      data: [{ id: '1', none: undefined }, [], {}],
      meta: { none: undefined },
      text: 'ü\ud83d\ude00'.repeat(50_000),
    });
  });
});
