import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseQuery } from './call.ts';
import { ServiceError } from './errors.ts';

describe('parseQuery with a repeated parameter [V1-13] [V1-14]', () => {
  it('returns the first value', () => {
    assert.equal(parseQuery('/v1/peerings?limit=1&limit=2').get('limit'), '1');
  });

  it('accepts equal partitions', () => {
    assert.equal(parseQuery('/v1/peerings?partition=eu&partition=EU').get('partition'), 'eu');
  });

  for (const [query, quoted] of [
    ['partition=eu&partition=us', '"eu" and "us"'],
    ['partition=&partition=us', '"" and "us"'],
    ['partition=eu&wait=1s&partition', '"eu" and ""'],
  ] as const) {
    it(`rejects different partitions: ${query}`, () => {
      assert.throws(
        () => parseQuery(`/v1/peerings?${query}`),
        (error) => {
          assert.ok(error instanceof ServiceError);
          assert.equal(error.code, 'bad-request');
          assert.equal(
            error.message,
            `Invalid query parameter: "partition" - it is given twice, as ${quoted}: want one`,
          );
          return true;
        },
      );
    });
  }
});
