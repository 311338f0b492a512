import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startApi } from '../../test/support/api.ts';
import { createFakeClock } from '../../test/support/fake-clock.ts';
import { faults, request } from '../../test/support/team-access.ts';
import { JsonApiError } from './jsonapi/errors.ts';
import { createRateLimit } from './rate-limit.ts';

describe('the rate limit', () => {
  test('lets as many requests through as it says, and tells how many are left', () => {
    const clock = createFakeClock();
    const limit = createRateLimit(clock, () => 4);
    const first = ['X-RateLimit-Limit', '4', 'X-RateLimit-Remaining', '3', 'X-RateLimit-Reset', '1.000'];
    assert.deepEqual(limit.count('a'), first);
    clock.advance(250);
    assert.deepEqual(limit.count('a').slice(3), ['2', 'X-RateLimit-Reset', '0.750']);
    limit.count('a');
    limit.count('a');
    assert.throws(
      () => limit.count('a'),
      (error) =>
        error instanceof JsonApiError &&
        error.faults[0]?.code === 'too-many-requests' &&
        error.headers.join(' ').endsWith('X-RateLimit-Remaining 0 X-RateLimit-Reset 0.750 Retry-After 1'),
    );
    clock.advance(750);
    assert.deepEqual(limit.count('a'), first);
  });

  test('counts each caller apart', () => {
    const limit = createRateLimit(createFakeClock(), () => 1);
    limit.count('a');
    limit.count('b');
    assert.throws(() => limit.count('a'), JsonApiError);
  });

  test('is off at 0, and follows the setting', () => {
    let most = 0;
    const limit = createRateLimit(createFakeClock(), () => most);
    for (let i = 0; i < 100; i++) assert.deepEqual(limit.count('a'), []);
    most = 4;
    assert.equal(limit.count('a')[1], '4');
  });

  test('stands in every answer, and counts strangers by their address', async () => {
    const clock = createFakeClock(Date.now());
    await using api = await startApi({ clock, rateLimit: 4 });
    const asked = await request(api, api.adminToken, 'GET', '/account/details');
    assert.deepEqual([asked.status, asked.headers['x-ratelimit-remaining']], [200, '3']);
    const missing = await request(api, api.adminToken, 'GET', '/organizations/nowhere');
    assert.deepEqual([missing.status, missing.headers['x-ratelimit-remaining']], [404, '2']);
    for (let i = 3; i >= 0; i--) {
      const stranger = await request(api, null, 'GET', '/account/details');
      assert.deepEqual([stranger.status, stranger.headers['x-ratelimit-remaining']], [401, String(i)]);
    }
    const refused = await request(api, 'unknown', 'GET', '/account/details');
    assert.deepEqual([refused.status, refused.headers['retry-after']], [429, '1']);
    assert.equal(faults(refused)[0]?.['title'], 'too many requests');
    assert.equal((await request(api, api.adminToken, 'GET', '/account/details')).status, 200);
  });
});
