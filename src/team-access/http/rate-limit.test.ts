import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { startApi } from '../../../test/support/process/api.ts';
import { makeCompany, putApiToken, putTeam, userIdByName } from '../../../test/support/team-access/organizations.ts';
import { errorsOf, request } from '../../../test/support/team-access/team-access.ts';
import { ServiceError } from '../../http/errors.ts';
import { RATE_SHARES_MAX, RATE_WINDOW_MS } from '../limits.ts';
import { createRateLimit, type RateCounter } from './rate-limit.ts';

const only = (key: string): readonly RateCounter[] => [{ bound: 'caller', key }];
const team = (key: string, organization: string): readonly RateCounter[] => [
  { bound: 'caller', key },
  { bound: 'teams', key: organization },
];

describe('the rate limit', () => {
  test('allows as many requests as the limit, and returns the remaining number [TEAM-90] [TEAM-94]', () => {
    const clock = createFakeClock();
    const limit = createRateLimit(clock, { rateLimit: 4 });
    const first = ['X-RateLimit-Limit', '4', 'X-RateLimit-Remaining', '3', 'X-RateLimit-Reset', '1.000'];
    assert.deepEqual(limit.count(only('a')), first);
    clock.advance(250);
    assert.deepEqual(limit.count(only('a')).slice(3), ['2', 'X-RateLimit-Reset', '0.750']);
    limit.count(only('a'));
    limit.count(only('a'));
    assert.throws(
      () => limit.count(only('a')),
      (error) =>
        error instanceof ServiceError &&
        error.code === 'rate-limited' &&
        error.retryAfterSeconds === 1 &&
        error.headers.join(' ').endsWith('X-RateLimit-Remaining 0 X-RateLimit-Reset 0.750'),
    );
    clock.advance(750);
    assert.deepEqual(limit.count(only('a')), first);
  });

  test('counts each caller separately', () => {
    const limit = createRateLimit(createFakeClock(), { rateLimit: 1 });
    limit.count(only('a'));
    limit.count(only('b'));
    assert.throws(() => limit.count(only('a')), ServiceError);
  });

  test('limits each team, and all teams of an organization together [TEAM-92]', () => {
    const limit = createRateLimit(createFakeClock(), { rateLimit: 4 });
    const spend = (key: string, sharedKey: string): number => {
      for (let count = 0; ; count++) {
        try {
          limit.count(team(key, sharedKey));
        } catch (error) {
          assert.ok(error instanceof ServiceError);
          return count;
        }
      }
    };
    assert.equal(spend('busy', 'acme'), 4);
    for (let i = 1; i < RATE_SHARES_MAX; i++) assert.equal(spend(`team ${i}`, 'acme'), 4);
    assert.equal(spend('one more', 'acme'), 0);
    assert.equal(spend('of another', 'beta'), 4);
    limit.count(only('a user'));
  });

  test('returns the remaining requests of the shared limit if they are fewer [TEAM-94]', () => {
    const limit = createRateLimit(createFakeClock(), { rateLimit: 4 });
    for (let i = 0; i < 4 * RATE_SHARES_MAX - 2; i++) limit.count(team(`team ${i}`, 'acme'));
    assert.equal(limit.count(team('late', 'acme'))[3], '1');
  });

  test('reports which of the two limits a team exceeded [TEAM-95]', () => {
    const limit = createRateLimit(createFakeClock(), { rateLimit: 4 });
    const assertRejected = (key: string, detail: string) =>
      assert.throws(
        () => limit.count(team(key, 'acme')),
        (error) => error instanceof ServiceError && error.message === detail,
      );
    for (let i = 0; i < 4; i++) limit.count(team('busy', 'acme'));
    assertRejected('busy', 'more than 4 requests a second');
    for (let i = 4; i < 4 * RATE_SHARES_MAX; i++) limit.count(team(`team ${i}`, 'acme'));
    assertRejected('quiet', 'the teams of the organization together made more than 40 requests a second');
    assertRejected('busy', 'more than 4 requests a second');
  });

  test('is off at 0, and follows changes of the setting [TEAM-90]', () => {
    const settings = { rateLimit: 0 };
    const limit = createRateLimit(createFakeClock(), settings);
    for (let i = 0; i < 100; i++) assert.deepEqual(limit.count(only('a')), []);
    settings.rateLimit = 4;
    assert.equal(limit.count(only('a'))[1], '4');
  });

  test('adds its headers to every answer, and counts requests without a valid token by address [TEAM-91]', async () => {
    const clock = createFakeClock(Date.now());
    await using api = await startApi({ clock, rateLimit: 4 });
    const first = await request(api, api.adminToken, 'GET', '/account/details');
    assert.deepEqual([first.status, first.headers['x-ratelimit-remaining']], [200, '3']);
    const missing = await request(api, api.adminToken, 'GET', '/organizations/nowhere');
    assert.deepEqual([missing.status, missing.headers['x-ratelimit-remaining']], [404, '2']);
    for (let i = 3; i >= 0; i--) {
      const stranger = await request(api, null, 'GET', '/account/details');
      assert.deepEqual([stranger.status, stranger.headers['x-ratelimit-remaining']], [401, String(i)]);
    }
    const limited = await request(api, 'unknown', 'GET', '/account/details');
    assert.deepEqual([limited.status, limited.headers['retry-after']], [429, '1']);
    assert.equal(errorsOf(limited)[0]?.['title'], 'too many requests');
    assert.equal((await request(api, api.adminToken, 'GET', '/account/details')).status, 200);
  });

  test('counts public endpoints, unknown paths and other methods, by token and by address [TEAM-93] [TEAM-95]', async () => {
    await using api = await startApi({ clock: createFakeClock(Date.now()), rateLimit: 4 });
    const requests = [
      ['GET', '/ping', 204],
      ['GET', '/openapi.json', 200],
      ['GET', '/nothing/here', 404],
      ['PATCH', '/ping', 405],
    ] as const;
    for (const token of [api.adminToken, null]) {
      let left = 4;
      for (const [method, path, status] of requests) {
        left -= 1;
        const { status: given, headers } = await request(api, token, method, path);
        assert.deepEqual(
          [given, headers['x-ratelimit-limit'], headers['x-ratelimit-remaining']],
          [status, '4', String(left)],
        );
      }
      for (const [method, path] of requests) {
        const limited = await request(api, token, method, path);
        assert.deepEqual([limited.status, limited.headers['retry-after']], [429, '1'], path);
        assert.deepEqual(errorsOf(limited)[0], {
          status: '429',
          title: 'too many requests',
          detail: 'more than 4 requests a second',
        });
      }
    }
  });

  test('returns the same answer for an unknown path and a hidden resource', async () => {
    await using api = await startApi({ clock: createFakeClock(Date.now()), rateLimit: 1_000 });
    const [hidden, nothing] = [
      await request(api, api.adminToken, 'GET', '/organizations/nowhere'),
      await request(api, api.adminToken, 'GET', '/nowhere'),
    ];
    const comparable = ({ status, text, headers }: typeof hidden) => {
      const { 'x-request-id': _, 'x-ratelimit-remaining': left, date, ...rest } = headers;
      return { status, text, names: Object.keys(headers), rest, counted: left !== undefined && date !== undefined };
    };
    assert.deepEqual(comparable(nothing), comparable(hidden));
  });

  test('applies one limit to all tokens of a team, and a multiple to all teams of an organization [TEAM-92]', async () => {
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

  test('counts the tokens of teams and organizations for the user who created them, too [TEAM-114]', async () => {
    await using api = await startApi({ clock: createFakeClock(Date.now()), rateLimit: 30 });
    const company = await makeCompany(api.state, 'acme');
    const owner = await api.state.write((tx) => userIdByName(tx, 'acme-owner'));
    const tokens = await api.state.write((tx) => [
      company.tokens.owner,
      putApiToken(tx, { organizationId: company.id, createdBy: owner }),
      ...Array.from({ length: 15 }, (_, i) =>
        putApiToken(tx, { teamId: putTeam(tx, company.id, `team ${i}`, 'secret'), createdBy: owner }),
      ),
    ]);
    let answered = 0;
    let last = '';
    for (let i = 0; i < 4; i++) {
      for (const token of tokens) {
        const { status, text } = await request(api, token, 'GET', '/account/details');
        if (status === 200) answered += 1;
        else last = text;
      }
    }
    assert.equal(answered, 30);
    assert.match(last, /the tokens of the user who created this token together made more than 30 requests a second/);
  });

  test('refuses a large body without a valid token before it is read [TEAM-35]', async () => {
    await using api = await startApi();
    const body = 'x'.repeat(20_000);
    for (const token of [null, 'unknown']) {
      const { status, headers, text } = await api.request('POST', '/api/v2/team-workspaces', { token, body });
      assert.deepEqual([status, headers['www-authenticate']], [401, 'Bearer']);
      assert.equal(text, '{"errors":[{"status":"401","title":"unauthorized"}]}');
    }
  });
});
