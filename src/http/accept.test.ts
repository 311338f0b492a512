import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { acceptsExactly, acceptsGzip } from './accept.ts';

describe('acceptsGzip [V1-38]', () => {
  const cases: [string | undefined, boolean][] = [
    [undefined, false],
    ['', false],
    ['gzip', true],
    ['GZIP', true],
    ['x-gzip', true],
    ['br, gzip;q=0.1', true],
    ['gzip;q=0', false],
    ['gzip; q=0.000, *', false],
    ['*', true],
    ['*;q=0', false],
    ['identity', false],
    ['gzipped', false],
    ['gzip;q=nonsense', false],
  ];
  for (const [given, wanted] of cases) {
    it(`returns ${wanted} for ${JSON.stringify(given)}`, () => assert.equal(acceptsGzip(given), wanted));
  }
});

describe('acceptsExactly [V1-47]', () => {
  it('accepts a media type that is listed literally with a quality above 0', () => {
    const type = 'application/problem+json';
    for (const yes of [type, `text/plain, ${type}`, `${type};q=0.1`, 'Application/Problem+JSON']) {
      assert.equal(acceptsExactly(yes, type), true, yes);
    }
    for (const no of [undefined, '*/*', 'application/*', `${type};q=0`, `${type}x`]) {
      assert.equal(acceptsExactly(no, type), false, String(no));
    }
  });
});
