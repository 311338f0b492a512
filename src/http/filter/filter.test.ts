import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { Type } from 'typebox';
import { runAtOnce } from '../../state/clock/slices.ts';
import { ServiceError } from '../errors.ts';
import { compileFilter } from './compile-filter.ts';
import { filterItems } from './filter-parameter.ts';
import { FILTER_CHARACTERS_MAX, FILTER_DEPTH_MAX, FILTER_REGEX_INSTRUCTIONS_MAX } from './limits.ts';

const schema = Type.Object({
  Name: Type.String(),
  Kind: Type.Optional(Type.String()),
  Port: Type.Integer(),
  On: Type.Boolean(),
  Tags: Type.Array(Type.String()),
  Meta: Type.Record(Type.String(), Type.String()),
  Checks: Type.Array(Type.Object({ ID: Type.String(), Status: Type.String() })),
  Mesh: Type.Optional(Type.Object({ Native: Type.Boolean() })),
});

const item = {
  Name: 'web',
  Port: 8080,
  On: true,
  Tags: ['v1', 'eu west'],
  Meta: { rack: '7', 'a.b': 'x', 'c/d': 'y' },
  Checks: [
    { ID: 'c1', Status: 'passing' },
    { ID: 'c2', Status: 'critical' },
  ],
};

const matches = (text: string): boolean => compileFilter(text, schema).matches(item, { units: 0 });

/** Expressions, and whether they match the item. */
const CASES: readonly (readonly [text: string, expected: boolean])[] = [
  ['Name == web', true],
  ['Name == "web"', true],
  ['Name==`web`', true],
  ['Name != web', false],
  ['Name == Web', false],
  [' ( Name == web ) ', true],
  ['Port == 8080', true],
  ['Port == "8080"', true],
  ['Port != 8080', false],
  ['On == true and On != f', true],
  ['"e" in Name', true],
  ['Name contains "eb"', true],
  ['Name not contains eb', false],
  ['v1 in Tags', true],
  ['"eu west" in Tags', true],
  ['Tags contains v2', false],
  ['v2 not in Tags', true],
  ['Tags not contains v1', false],
  ['Tags is empty', false],
  ['Tags is not empty', true],
  ['Tags.0 == v1', true],
  ['Tags.5 == v1', false],
  ['Meta.rack == 7', true],
  ['Meta["a.b"] == x', true],
  ['Meta[`c/d`] == y', true],
  ['"/Meta/c~1d" == y', true],
  ['"/Meta/rack" matches "^[0-9]$"', true],
  ['rack in Meta', true],
  ['Meta contains none', false],
  ['Meta.none == 7', false],
  ['Meta.none != 7', true],
  ['Meta.none is empty', true],
  ['Meta.none is not empty', false],
  ['x not in Meta.none', true],
  ['Name matches "^w.b$"', true],
  ['Name matches `(?i)WEB`', true],
  ['Name not matches "x+"', true],
  ['Kind == ""', true],
  ['Kind is empty', true],
  ['Mesh.Native == false', true],
  ['Checks.Status == critical', true],
  ['Checks.Status == warning', false],
  // A comparison with a list holds if it holds for one element.
  ['Checks.Status != passing', true],
  ['Checks is not empty', true],
  ['any Checks as check { check.Status == critical and check.ID == c2 }', true],
  ['any Checks as check { check.Status == critical and check.ID == c1 }', false],
  ['all Checks as _, check { check.ID matches "c." }', true],
  ['any Checks as i, check { i == 1 and check.ID == c2 }', true],
  ['all Tags as tag { tag != v2 }', true],
  ['any Meta as key { key == rack }', true],
  ['any Meta as key, value { key == rack and value == 7 }', true],
  ['any Checks as a { any Checks as b { a.ID == c1 and b.ID == c2 } }', true],
  ['any Tags as _, Name { Name == v1 } and Name == web', true],
  ['not Name == web', false],
  ['not not Name == web', true],
  ['Name == a or Name == web and Port == 1', false],
  ['(Name == a or Name == web) and Port == 8080', true],
  ['Name == web or Name == a and Port == 1', true],
  ['Name == "\\x77\\u0065b"', true],
];

/** Expressions that cannot be used, and the reason. */
const INVALID: readonly (readonly [text: string, reason: RegExp])[] = [
  ['Name', /no match found/],
  ['Name = web', /1:\d+ \(\d+\): no match found at/],
  ['Name == web or', /no match found/],
  ['(Name == web', /no match found/],
  ['Name == "web', /no match found/],
  ['Name == "\\q"', /invalid syntax/],
  ['Other == 1', /Selector "Other" is not valid/],
  ['name == web', /Selector "name" is not valid/],
  ['Mesh.Other == 1', /Selector "Mesh.Other" is not valid/],
  ['Name.x == 1', /Selector "Name.x" is not valid/],
  ['__proto__ == 1', /no match found/],
  ['constructor == 1', /Selector "constructor" is not valid/],
  ['Port == x', /strconv.ParseInt: parsing "x": invalid syntax/],
  ['On == maybe', /strconv.ParseBool: parsing "maybe": invalid syntax/],
  ['Port matches "1"', /Invalid match operator "matches" for selector "Port"/],
  ['Tags == v1', /Invalid match operator "==" for selector "Tags"/],
  ['Port is not empty', /Invalid match operator "is not empty" for selector "Port"/],
  ['any Name as x { x == 1 }', /Invalid collection operator "any" for selector "Name"/],
  ['any Checks as x, x { x.ID == 1 }', /cannot be used as a placeholder/],
  ['Name matches "("', /Failed to compile regular expression "\(": error parsing regexp: missing closing \)/],
  ['Name matches "(?=x)"', /Failed to compile regular expression/],
  [`Name matches "x{${FILTER_REGEX_INSTRUCTIONS_MAX}}"`, /expression too large/],
  [`Name == "${'x'.repeat(FILTER_CHARACTERS_MAX)}"`, /the expression has \d+ characters, want at most 2048/],
  [`${'('.repeat(FILTER_DEPTH_MAX + 1)}Name == x${')'.repeat(FILTER_DEPTH_MAX + 1)}`, /more than 32 nested levels/],
  [`${'not '.repeat(FILTER_DEPTH_MAX + 1)}Name == x`, /more than 32 nested levels/],
];

describe('a filter [V1-94]', () => {
  for (const [text, expected] of CASES)
    test(`${expected ? 'matches' : 'does not match'} with ${text}`, () => assert.equal(matches(text), expected));

  for (const [text, reason] of INVALID)
    test(`is refused: ${text.slice(0, 50)}`, () =>
      assert.throws(
        () => matches(text),
        (error) =>
          error instanceof ServiceError &&
          error.code === 'bad-request' &&
          error.message.startsWith('Failed to create boolean expression evaluator: ') &&
          reason.test(error.message),
        text,
      ));

  test('never fails with anything but a refusal', () => {
    const words = [
      'Name',
      'Checks.Status',
      '==',
      '!=',
      'not',
      'in',
      'is',
      'empty',
      'contains',
      'matches',
      '"x"',
      '`y`',
    ];
    const more = ['(', ')', 'and', 'or', 'any', 'all', 'as', '{', '}', ' ', ',', '.', '[', ']', '7', '"(a+)+$"', '\\'];
    const text = fc.oneof(
      fc.string(),
      fc.array(fc.constantFrom(...words, ...more), { maxLength: 40 }).map((parts) => parts.join(' ')),
    );
    fc.assert(
      fc.property(text, (given) => {
        try {
          matches(given);
        } catch (error) {
          assert.ok(error instanceof ServiceError, `${given}: ${String(error)}`);
        }
      }),
      { numRuns: 2_000 },
    );
  });

  test('is refused on a list that takes too long to compare [V1-95]', () => {
    const slow = compileFilter('Name matches "(x+x+)+y"', schema);
    const long = { ...item, Name: 'x'.repeat(4_000) };
    const list = Array.from({ length: 10_000 }, () => long);
    const started = performance.now();
    assert.throws(
      () => runAtOnce(filterItems(list, slow, (one) => one)),
      (error) => error instanceof ServiceError && error.message.startsWith('The filter has too much to compare'),
    );
    assert.ok(performance.now() - started < 5_000, 'a regular expression takes linear time');
  });

  test('compares long lists [V1-95]', () => {
    const list = Array.from({ length: 100_000 }, () => item);
    const found = runAtOnce(filterItems(list, compileFilter('Name == web', schema), (one) => one));
    assert.equal(found.length, list.length);
  });
});
