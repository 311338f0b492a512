import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sharedApi, startApi } from '../../test/support/process/api.ts';

describe('the token of a request', () => {
  const plain = sharedApi();
  const withCompat = sharedApi({ consul: true });
  // `good` and `other` are replaced with the secret IDs of two tokens.
  const rows: readonly (readonly [headers: Readonly<Record<string, string>>, expected: string, consul?: 'consul'])[] = [
    [{ 'x-service-token': 'good' }, 'good'], // [ACL-1]
    [{ authorization: 'Bearer good' }, 'good'], // [ACL-2]
    [{ authorization: 'bearer   good  ' }, 'good'],
    [{ 'x-service-token': 'good', authorization: 'Bearer good' }, 'good'],
    [{ 'x-service-token': 'good', authorization: 'Basic dTpw' }, 'good'],
    [{ 'x-service-token': '', authorization: 'Bearer good' }, 'good'], // [ACL-4]
    [
      { 'x-service-token': 'good', authorization: 'Bearer other' },
      '400 X-Service-Token and Authorization contain different tokens: send only one', // [ACL-3]
    ],
    [{ 'x-service-token': 'x'.repeat(257) }, '403 ACL not found'],
    [{ 'x-service-token': 'unknown' }, '403 ACL not found'],
    [{ authorization: 'Bearer unknown' }, '403 ACL not found'],
    [{ authorization: 'Bearer' }, '403 anonymous'],
    [{ authorization: 'Basic dTpw' }, '403 anonymous'],
    [{ 'x-service-token': '' }, '403 anonymous'],
    [{}, '403 anonymous'],
    [{ 'x-consul-token': 'good' }, '403 anonymous'],
    [{ 'x-consul-token': 'good' }, 'good', 'consul'], // [V1-90]
    [{ 'x-service-token': 'good', 'x-consul-token': 'other' }, 'good', 'consul'],
    [{ authorization: 'Bearer good', 'x-consul-token': 'other' }, 'good', 'consul'],
    [
      { 'x-service-token': 'good', authorization: 'Bearer other', 'x-consul-token': 'good' },
      '400 X-Service-Token and Authorization contain different tokens: send only one',
      'consul',
    ],
  ];
  for (const [headers, expected, compat] of rows) {
    const names = Object.entries(headers).map(([name, value]) => `${name}: ${value.slice(0, 20)}`);
    test(`[${names.join(' | ')}]${compat === undefined ? '' : ' with compat'} → ${expected}`, async () => {
      const api = compat === 'consul' ? withCompat() : plain();
      const tokens = { good: await api.makeToken([]), other: await api.makeToken([]) };
      const secrets = (text: string): string =>
        text.replace('good', tokens.good.SecretID).replace('other', tokens.other.SecretID);
      const sent = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, secrets(value)]));
      const answer = await api.request('GET', '/v1/acl/token/self', { token: null, headers: sent });
      if (expected === 'good') assert.equal(answer.json<{ AccessorID: string }>().AccessorID, tokens.good.AccessorID);
      else if (expected === '403 anonymous') assert.match(answer.text, /^Permission denied: anonymous token lacks/);
      else assert.equal(`${answer.status} ${answer.text}`, expected);
    });
  }

  test('is rejected in the query string and not logged [ACL-5]', async () => {
    const api = plain();
    const answer = await api.request('GET', `/v1/acl/token/self?token=${api.token}`, { token: null });
    assert.equal(answer.status, 400);
    assert.ok(!answer.text.includes(api.token));
    assert.ok(!api.log().includes(api.token));
  });
});

test('compat: consul repeats every X-Service header of a response as X-Consul [V1-91]', async () => {
  await using api = await startApi({ consul: true });
  await api.makePartitions('eu', 'us');
  const { SecretID: inEu } = await api.makeToken(['operator:read@eu']);
  const requests = [
    { path: '/v1/partitions', token: inEu, names: 6, status: 200 },
    { path: '/v1/partition/nowhere', token: api.token, names: 5, status: 404 },
    { path: '/v1/audit?limit=1', token: inEu, names: 2, status: 200 },
  ];
  for (const { path, token, names, status } of requests) {
    const answer = await api.request('GET', path, { token });
    assert.equal(answer.status, status);
    const headersOf = (prefix: string) =>
      Object.entries(answer.headers).flatMap(([name, value]) =>
        name.startsWith(prefix) ? [[name.slice(prefix.length), value]] : [],
      );
    assert.equal(headersOf('x-service-').length, names, path);
    assert.deepEqual(headersOf('x-consul-'), headersOf('x-service-'), path);
  }
});
