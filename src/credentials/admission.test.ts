import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFakeClock } from '../../test/support/fake-clock.ts';
import { startApi } from '../../test/support/process/api.ts';

describe('the rate of /v1', () => {
  it('limits each token by itself, and requests without a valid token by address [V1-99]', async () => {
    const clock = createFakeClock(Date.now());
    await using api = await startApi({ clock, ratePerToken: 5 });
    const [one, two] = [await api.makeToken([]), await api.makeToken([])];
    clock.advance(1_000);
    const statuses = async (token: string | null, count: number) => {
      const found: number[] = [];
      for (let i = 0; i < count; i++) found.push((await api.request('GET', '/v1/acl/token/self', { token })).status);
      return found;
    };
    assert.deepEqual(await statuses(one.SecretID, 7), [200, 200, 200, 200, 200, 429, 429]);
    assert.deepEqual(await statuses(two.SecretID, 5), [200, 200, 200, 200, 200]);
    const limited = await api.request('PUT', '/v1/acl/token', { token: two.SecretID, body: '{' });
    assert.deepEqual([limited.status, limited.headers['retry-after']], [429, '1']);
    assert.equal(limited.text, 'more than 5 requests a second with this token (limits.rate-per-token)');
    // Tokens that do not exist count together, and with requests without a token.
    for (let i = 0; i < 4; i++) assert.equal((await api.request('GET', '/v1/nothing', { token: `x${i}` })).status, 404);
    assert.equal((await statuses(null, 1))[0], 403);
    const stranger = await api.request('GET', '/v1/acl/token/self', { token: 'another' });
    const text = 'more than 5 requests a second without a valid token from this address (limits.rate-per-token)';
    assert.deepEqual([stranger.status, stranger.text], [429, text]);
    clock.advance(200);
    assert.deepEqual(await statuses(one.SecretID, 2), [200, 429]);
  });

  it('rejects a large body of a caller without a token before it is read [SRV-119]', async () => {
    await using api = await startApi();
    const body = JSON.stringify({ Description: 'x'.repeat(20_000) });
    const anonymous = await api.request('PUT', '/v1/acl/token', { token: null, body });
    assert.deepEqual(
      [anonymous.status, anonymous.text],
      [403, 'Permission denied: a request with a large body needs a token'],
    );
    const unknown = await api.request('PUT', '/v1/acl/token', { token: 'unknown', body });
    assert.deepEqual([unknown.status, unknown.text], [403, 'ACL not found']);
    assert.equal((await api.request('PUT', '/v1/acl/token', { body })).status, 400);
  });

  it('rejects half of a surrogate pair in a body, a path and a query [V1-100] [TEAM-116]', async () => {
    await using api = await startApi();
    const body = String.raw`{"Description":"\ud800"}`;
    assert.equal((await api.request('PUT', '/v1/acl/token', { body })).status, 400);
    assert.equal((await api.request('GET', '/v1/acl/token/%ED%A0%80')).status, 400);
    assert.equal((await api.request('GET', '/v1/acl/tokens?partition=%ED%A0%80')).status, 400);
    const headers = { authorization: `Bearer ${api.adminToken}`, 'content-type': 'application/vnd.api+json' };
    const options = { token: null, headers, body: String.raw`{"data":"\ud800"}` };
    assert.equal((await api.request('POST', '/api/v2/organizations', options)).status, 400);
  });
});
