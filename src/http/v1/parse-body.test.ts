import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Type } from 'typebox';
import { runAtOnce } from '../../state/clock/slices.ts';
import { ServiceError } from '../errors.ts';
import { checkBody, checkBodyInSlices, parseBody } from './parse-body.ts';

const schema = Type.Object(
  {
    PeerName: Type.Optional(Type.String({ minLength: 1, maxLength: 5 })),
    Meta: Type.Optional(Type.Record(Type.String(), Type.String())),
    Grants: Type.Optional(
      Type.Array(
        Type.Object(
          {
            Access: Type.Union([Type.Literal('read'), Type.Literal('write')]),
            Kind: Type.Optional(Type.Enum(['a', 'b'])),
          },
          { additionalProperties: false },
        ),
        { maxItems: 10_000 },
      ),
    ),
    Count: Type.Optional(Type.Union([Type.Null(), Type.Integer({ minimum: 0 })])),
    Flag: Type.Optional(Type.Boolean()),
    Anything: Type.Optional(Type.Unknown()),
  },
  { additionalProperties: false },
);

/** Returns the error message for a body that the schema rejects. */
function errorFor(body: string | Buffer): string {
  try {
    parseBody(schema, Buffer.from(body));
  } catch (error) {
    assert.ok(error instanceof ServiceError && error.code === 'bad-request');
    return error.message.replace(/^Body decoding failed: /, '');
  }
  assert.fail('the body was accepted');
}

describe('parseBody with a valid body', () => {
  const cases: [string, unknown][] = [
    ['', {}], // [V1-22]
    ['{}', {}],
    [' {\n"PeerName" : "a" } ', { PeerName: 'a' }],
    ['{"peername":"a","META":{"k":"v"}}', { PeerName: 'a', Meta: { k: 'v' } }], // [V1-28]
    ['{"grants":[{"access":"read","KIND":"b"}]}', { Grants: [{ Access: 'read', Kind: 'b' }] }],
    ['{"PeerName":null,"Meta":null,"Count":null}', { Count: null }], // [V1-29]
    ['{"Count":3,"Flag":false}', { Count: 3, Flag: false }],
    ['{"Anything":{"a":[1,null]}}', { Anything: { a: [1, null] } }],
    ['{"Meta":{"Key":"a","key":"b","constructor":"c"}}', { Meta: { Key: 'a', key: 'b', constructor: 'c' } }],
    ['{"PeerName":"\\"}{[\\\\"}', { PeerName: '"}{[\\' }],
  ];
  for (const [body, value] of cases) {
    it(`accepts ${body || 'an empty body'}`, () => assert.deepEqual(parseBody(schema, Buffer.from(body)), value));
  }

  it('decodes UTF-8', () =>
    assert.deepEqual(parseBody(schema, Buffer.from('{"PeerName":"é€𝄞"}')), { PeerName: 'é€𝄞' }));
});

describe('parseBody with an invalid body', () => {
  const cases: [string, string][] = [
    ['[]', 'want an object, got an array'],
    ['null', 'want an object, got null'],
    ['{"Peer":"a"}', 'json: unknown field "Peer", did you mean "PeerName"?'], // [V1-30]
    ['{"PeerNmae":"a"}', 'json: unknown field "PeerNmae", did you mean "PeerName"?'],
    ['{"Zebra":"a"}', 'json: unknown field "Zebra"'],
    ['{"Grants":[{"Acess":"read"}]}', 'json: unknown field "Grants[0].Acess", did you mean "Access"?'],
    ['{"PeerName":1}', 'PeerName: want a string, got a number'], // [V1-31]
    ['{"Meta":{"a":{}}}', 'Meta.a: want a string, got an object'],
    ['{"Meta":["a"]}', 'Meta: want an object, got an array'],
    ['{"Grants":{}}', 'Grants: want an array, got an object'],
    ['{"Grants":[null]}', 'Grants[0]: want an object, got null'],
    ['{"Grants":[{}]}', 'Grants[0]: Access missing'], // [V1-33]
    ['{"Grants":[{"Access":"all"}]}', 'Grants[0].Access: want "read" or "write", got "all"'], // [V1-32]
    ['{"Grants":[{"Access":"read","Kind":"c"}]}', 'Grants[0].Kind: want "a" or "b", got "c"'],
    ['{"Count":1.5}', 'Count: want null or a whole number, got a number'],
    ['{"Count":9007199254740993}', 'Count: want null or a whole number, got a number'],
    ['{"Count":-1}', 'Count: must be >= 0'],
    ['{"Flag":"true"}', 'Flag: want a boolean, got a string'],
    ['{"PeerName":"abcdef"}', 'PeerName: must not have more than 5 characters'],
    ['{"PeerName":"a","PeerName":"b"}', 'json: duplicate field "PeerName"'], // [V1-27]
    ['{"PeerName":"a","peername":"b"}', 'json: duplicate field "PeerName"'],
    ['{"PeerName":"a","\\u0050eerName":"b"}', 'json: duplicate field "PeerName"'],
    ['{"Meta":{"a":"1","a":"2"}}', 'json: duplicate field "a"'],
    ['{"__proto__":{"PeerName":"a"}}', 'json: unknown field "__proto__"'],
    ['{"Meta":{"__proto__":"a"}}', 'Meta: "__proto__" cannot be a key'], // [V1-34]
    ['{"Meta":{"\\u005f_proto__":"a"}}', 'Meta: "__proto__" cannot be a key'],
    ['{"PeerName":"a"} x', 'json: Unexpected non-whitespace character after JSON at position 17 (line 1 column 18)'],
    ['{"PeerName":', 'json: Unexpected end of JSON input'],
    [`{"Anything":${'['.repeat(40)}${']'.repeat(40)}}`, 'json: nested more than 32 levels deep'], // [V1-26]
  ];
  for (const [body, message] of cases) it(`rejects ${body}`, () => assert.equal(errorFor(body), message));

  const long: [string, string, string][] = [
    ['many values', `{"Grants":[${'{},'.repeat(300_000)}{}]}`, 'json: more than 100000 values'],
    [
      'an object with many fields',
      JSON.stringify(Object.fromEntries(Array.from({ length: 1_001 }, (_, i) => [`k${i}`, 0]))),
      'json: an object has more than 1000 fields',
    ],
  ];
  for (const [what, body, message] of long) {
    it(`rejects ${what} [V1-96]`, () => assert.equal(errorFor(body), message));
  }

  it('checks the length of an array before its elements [V1-97]', () =>
    assert.equal(errorFor(`{"Grants":[${'0,'.repeat(10_000)}0]}`), 'Grants: must not have more than 10000 items'));

  it('examines no further element after the first error [V1-97]', () => {
    let examined = 0;
    const isExamined = (): boolean => {
      examined += 1;
      return false;
    };
    const counted = Type.Object({ List: Type.Array(Type.Refine(Type.Object({}), isExamined)) });
    const body = Buffer.from(`{"List":[${'{},'.repeat(40_000)}{}]}`);
    assert.throws(() => parseBody(counted, body), /List\[0\]/);
    assert.ok(examined < 10, `${examined} elements were examined`);
  });

  it('rejects invalid UTF-8, a byte order mark, and UTF-16 [V1-24]', () => {
    assert.equal(errorFor(Buffer.from([0x7b, 0xff, 0x7d])), 'the body is not valid UTF-8');
    assert.equal(errorFor(Buffer.from([0xed, 0xa0, 0x80])), 'the body is not valid UTF-8');
    assert.match(errorFor('\uFEFF{}'), /^json: Unexpected token/);
    assert.match(errorFor(Buffer.from('{"PeerName":"a"}', 'utf16le')), /^json: /);
  });

  it('quotes no part of invalid JSON, because it may be secret [V1-25]', () => {
    for (const body of ['s3cr3t', '{"PeerName":s3cr3t}', '{"PeerName":"s3cr3t" "x"}', '{"a" s3cr3t']) {
      assert.doesNotMatch(errorFor(body), /s3cr3t/);
    }
  });
});

describe('parseBody with a random body', () => {
  it('returns an object or throws a ServiceError', () => {
    const near = fc.dictionary(
      fc.constantFrom('PeerName', 'peername', 'Meta', 'Grants', 'Count', '__proto__'),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.json(),
          near.map((value) => JSON.stringify(value)),
        ),
        (text) => {
          try {
            const value = parseBody(schema, Buffer.from(text));
            assert.equal(Object.getPrototypeOf(value), Object.prototype);
          } catch (error) {
            assert.ok(error instanceof ServiceError, String(error));
          }
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

it('checkBodyInSlices returns and rejects what checkBody does', () => {
  const schema = Type.Object(
    { Kind: Type.String(), Items: Type.Optional(Type.Array(Type.Object({ Name: Type.String() }))) },
    { additionalProperties: false },
  );
  const items = (count: number): object[] => Array.from({ length: count }, (_, i) => ({ name: `n${i}` }));
  const bodies = [
    { kind: 'a', items: items(1_000) },
    { KIND: 'a', items: [...items(900), { name: 7 }] },
    { items: items(1_000) },
    { kind: 'a', others: items(1_000) },
    { kind: 'a', items: items(2) },
    items(1_000),
  ];
  const outcome = (check: () => unknown): unknown => {
    try {
      return check();
    } catch (error) {
      return String(error);
    }
  };
  for (const body of bodies) {
    const inSlices = outcome(() => runAtOnce(checkBodyInSlices(schema, structuredClone(body))));
    assert.deepEqual(
      inSlices,
      outcome(() => checkBody(schema, body)),
    );
  }
});
