import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { startApi } from '../../../test/support/process/api.ts';
import { makeCompany, putApiToken, putTeam } from '../../../test/support/team-access/organizations.ts';
import { faults, request } from '../../../test/support/team-access/team-access.ts';
import { JsonApiError } from '../jsonapi/errors.ts';
import { RATE_SHARES_MAX, RATE_WINDOW_MS } from '../limits.ts';
import { createRateLimit } from './rate-limit.ts';

describe('the rate limit', () => {
  test('lets as many requests through as it says, and tells how many are left', () => {
    const clock = createFakeClock();
    const limit = createRateLimit(clock, () => 4);
    const first = ['X-RateLimit-Limit', '4', 'X-RateLimit-Remaining', '3', 'X-RateLimit-Reset', '1.000'];
    assert.deepEqual(limit.count({ who: 'a' }), first);
    clock.advance(250);
    assert.deepEqual(limit.count({ who: 'a' }).slice(3), ['2', 'X-RateLimit-Reset', '0.750']);
    limit.count({ who: 'a' });
    limit.count({ who: 'a' });
    assert.throws(
      () => limit.count({ who: 'a' }),
      (error) =>
        error instanceof JsonApiError &&
        error.faults[0]?.code === 'too-many-requests' &&
        error.headers.join(' ').endsWith('X-RateLimit-Remaining 0 X-RateLimit-Reset 0.750 Retry-After 1'),
    );
    clock.advance(750);
    assert.deepEqual(limit.count({ who: 'a' }), first);
  });

  test('counts each caller apart', () => {
    const limit = createRateLimit(createFakeClock(), () => 1);
    limit.count({ who: 'a' });
    limit.count({ who: 'b' });
    assert.throws(() => limit.count({ who: 'a' }), JsonApiError);
  });

  test('gives each team its own, and those of an organization a larger one together', () => {
    const limit = createRateLimit(createFakeClock(), () => 4);
    const spend = (who: string, sharing: string): number => {
      for (let count = 0; ; count++) {
        try {
          limit.count({ who, sharing });
        } catch (error) {
          assert.ok(error instanceof JsonApiError);
          return count;
        }
      }
    };
    assert.equal(spend('busy', 'acme'), 4);
    for (let i = 1; i < RATE_SHARES_MAX; i++) assert.equal(spend(`team ${i}`, 'acme'), 4);
    assert.equal(spend('one more', 'acme'), 0);
    assert.equal(spend('of another', 'beta'), 4);
    limit.count({ who: 'a user' });
  });

  test('tells a team how much the others of its organization have left it', () => {
    const limit = createRateLimit(createFakeClock(), () => 4);
    for (let i = 0; i < 4 * RATE_SHARES_MAX - 2; i++) limit.count({ who: `team ${i}`, sharing: 'acme' });
    assert.equal(limit.count({ who: 'late', sharing: 'acme' })[3], '1');
  });

  test('says whose requests were too many: their own, or those of all teams together', () => {
    const limit = createRateLimit(createFakeClock(), () => 4);
    const isRefused = (who: string, detail: string) =>
      assert.throws(
        () => limit.count({ who, sharing: 'acme' }),
        (error) => error instanceof JsonApiError && error.faults[0]?.detail === detail,
      );
    for (let i = 0; i < 4; i++) limit.count({ who: 'busy', sharing: 'acme' });
    isRefused('busy', 'more than 4 requests a second');
    for (let i = 4; i < 4 * RATE_SHARES_MAX; i++) limit.count({ who: `team ${i}`, sharing: 'acme' });
    isRefused('quiet', 'the teams of the organization together made more than 40 requests a second');
    isRefused('busy', 'more than 4 requests a second');
  });

  test('is off at 0, and follows the setting', () => {
    let most = 0;
    const limit = createRateLimit(createFakeClock(), () => most);
    for (let i = 0; i < 100; i++) assert.deepEqual(limit.count({ who: 'a' }), []);
    most = 4;
    assert.equal(limit.count({ who: 'a' })[1], '4');
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

  test('counts what anybody may ask, what is not there and other methods, by token and by address', async () => {
    await using api = await startApi({ clock: createFakeClock(Date.now()), rateLimit: 4 });
    const asked = [
      ['GET', '/ping', 204],
      ['GET', '/openapi.json', 200],
      ['GET', '/nothing/here', 404],
      ['PATCH', '/ping', 405],
    ] as const;
    for (const token of [api.adminToken, null]) {
      let left = 4;
      for (const [method, path, status] of asked) {
        left -= 1;
        const { status: given, headers } = await request(api, token, method, path);
        assert.deepEqual(
          [given, headers['x-ratelimit-limit'], headers['x-ratelimit-remaining']],
          [status, '4', String(left)],
        );
      }
      for (const [method, path] of asked) {
        const refused = await request(api, token, method, path);
        assert.deepEqual([refused.status, refused.headers['retry-after']], [429, '1'], path);
        assert.deepEqual(faults(refused)[0], {
          status: '429',
          title: 'too many requests',
          detail: 'more than 4 requests a second',
        });
      }
    }
  });

  test('makes no difference between an unknown path and what may not be known', async () => {
    await using api = await startApi({ clock: createFakeClock(Date.now()), rateLimit: 1_000 });
    const [hidden, nothing] = [
      await request(api, api.adminToken, 'GET', '/organizations/nowhere'),
      await request(api, api.adminToken, 'GET', '/nowhere'),
    ];
    const told = ({ status, text, headers }: typeof hidden) => {
      const { 'x-request-id': _, 'x-ratelimit-remaining': left, date, ...rest } = headers;
      return { status, text, names: Object.keys(headers), rest, counted: left !== undefined && date !== undefined };
    };
    assert.deepEqual(told(nothing), told(hidden));
  });

  test('lets the tokens of a team make as many, and those of all teams of an organization a multiple', async () => {
    const clock = createFakeClock(Date.now());
    await using api = await startApi({ clock, rateLimit: 4 });
    const company = await makeCompany(api.state, 'acme');
    const details = async (token: string | null) => {
      const { status, headers } = await request(api, token, 'GET', '/account/details');
      return [status, headers['x-ratelimit-remaining']];
    };
    const tokens = await api.state.write((tx) =>
      Array.from({ length: RATE_SHARES_MAX + 1 }, (_, i) => {
        const teamId = putTeam(tx, company.id, `team ${i}`, 'secret');
        return [putApiToken(tx, { teamId }), putApiToken(tx, { teamId })] as const;
      }),
    );
    for (const [one, other] of tokens.slice(0, RATE_SHARES_MAX)) {
      for (const left of [3, 1]) {
        assert.deepEqual(await details(one), [200, String(left)]);
        assert.deepEqual(await details(other), [200, String(left - 1)]);
      }
      assert.deepEqual(await details(one), [429, '0']);
    }
    assert.deepEqual(await details(tokens[RATE_SHARES_MAX]?.[0] ?? null), [429, '0']);
    assert.deepEqual(await details(company.tokens['organization-token']), [200, '3']);
    assert.deepEqual(await details(company.tokens.owner), [200, '3']);
    clock.advance(RATE_WINDOW_MS);
    assert.deepEqual(await details(tokens[RATE_SHARES_MAX]?.[0] ?? null), [200, '3']);
  });
});
