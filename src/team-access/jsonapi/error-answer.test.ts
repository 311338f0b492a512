import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sharedApi, startApi } from '../../../test/support/process/api.ts';
import { faults, MEDIA_TYPE, NOT_FOUND, request, seen } from '../../../test/support/team-access/team-access.ts';

/** Every header but those that say when and which request it was. */
const lasting = (headers: object): object =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !['date', 'x-request-id'].includes(name)));

describe('what goes wrong at the edge below /api/v2', () => {
  const api = sharedApi();
  const ask = (method: string, path: string, options = {}) => request(api(), api().adminToken, method, path, options);

  test('is told as JSON:API', async () => {
    const answer = await ask('PUT', '/organizations');
    assert.equal(answer.status, 405);
    assert.equal(answer.headers['content-type'], `${MEDIA_TYPE}; charset=utf-8`);
    assert.match(answer.headers.allow ?? '', /GET, POST|POST, GET/);
    assert.equal(faults(answer)[0]?.['title'], 'method not allowed');
  });
  test('names the limit that a body is over', async () => {
    const answer = await ask('POST', '/organizations', { body: 'x'.repeat(1024 * 1024 + 1) });
    assert.equal(answer.status, 413);
    assert.match(String(faults(answer)[0]?.['detail']), /limits\.body/);
  });
  test('is the same for an unknown path as for a thing that is not there, headers too', async () => {
    const unknown = await ask('GET', '/nothing/here');
    const missing = await ask('GET', '/organizations/nowhere');
    assert.deepEqual(seen(unknown), NOT_FOUND);
    assert.deepEqual(seen(missing), NOT_FOUND);
    assert.deepEqual(lasting(missing.headers), lasting(unknown.headers));
  });
  test('is refused in the query likewise', async () => {
    const answer = await ask('GET', '/organizations?token=x');
    assert.deepEqual([answer.status, faults(answer)[0]?.['title']], [400, 'bad request']);
  });
  test('stays plain text elsewhere', async () => {
    const answer = await api().request('GET', '/v1/nothing');
    assert.match(answer.headers['content-type'] ?? '', /^text\/plain/);
  });
});

test('who has no good token is told so, however the token is presented', async () => {
  await using api = await startApi();
  for (const authorization of [
    '',
    'Bearer',
    'Bearer ',
    `Basic ${api.adminToken}`,
    'Bearer a b',
    `Bearer ${'x'.repeat(300)}`,
    `Bearer ${api.token}`,
  ]) {
    const answer = await request(api, null, 'GET', '/account/details', { headers: { authorization } });
    assert.deepEqual(seen(answer), [401, '{"errors":[{"status":"401","title":"unauthorized"}]}'], authorization);
    assert.equal(answer.headers['www-authenticate'], 'Bearer');
  }
});
