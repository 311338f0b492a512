import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { sharedApi, startApi } from '../../../test/support/process/api.ts';
import { gatedEngine } from '../../../test/support/state/gated-engine.ts';
import {
  errorsOf,
  MEDIA_TYPE,
  NOT_FOUND,
  request,
  resource,
  statusAndText,
} from '../../../test/support/team-access/team-access.ts';
import { temporaryDirectory } from '../../../test/support/temporary-directory.ts';
import { sqliteEngine } from '../../state/engine/sqlite/engine.ts';
import { StateError } from '../../state/errors.ts';

/** Returns the headers that do not differ between requests. */
const stableHeaders = (headers: object): object =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !['date', 'x-request-id'].includes(name)));

describe('errors of the HTTP server below /api/v2', () => {
  const api = sharedApi();
  const ask = (method: string, path: string, options = {}) => request(api(), api().adminToken, method, path, options);

  test('are JSON:API error documents [DOC-1]', async () => {
    const answer = await ask('PUT', '/organizations');
    assert.equal(answer.status, 405);
    assert.equal(answer.headers['content-type'], `${MEDIA_TYPE}; charset=utf-8`);
    assert.match(answer.headers.allow ?? '', /GET, POST|POST, GET/);
    assert.equal(errorsOf(answer)[0]?.['title'], 'method not allowed');
  });
  test('name the limit that a body exceeds', async () => {
    const answer = await ask('POST', '/organizations', { body: 'x'.repeat(1024 * 1024 + 1) });
    assert.equal(answer.status, 413);
    assert.match(String(errorsOf(answer)[0]?.['detail']), /limits\.body/);
  });
  test('are the same for an unknown path and a missing resource, including headers [TEAM-34]', async () => {
    const unknown = await ask('GET', '/nothing/here');
    const missing = await ask('GET', '/organizations/nowhere');
    assert.deepEqual(statusAndText(unknown), NOT_FOUND);
    assert.deepEqual(statusAndText(missing), NOT_FOUND);
    assert.deepEqual(stableHeaders(missing.headers), stableHeaders(unknown.headers));
  });
  test('include errors in the query [TEAM-23]', async () => {
    const answer = await ask('GET', '/organizations?token=x');
    assert.deepEqual([answer.status, errorsOf(answer)[0]?.['title']], [400, 'bad request']);
  });
  test('are plain text for other paths', async () => {
    const answer = await api().request('GET', '/v1/nothing');
    assert.match(answer.headers['content-type'] ?? '', /^text\/plain/);
  });
});

test('error answers have security headers, and Retry-After if a retry can help [TEAM-37]', async () => {
  await using directory = await temporaryDirectory();
  const { engine, commit } = gatedEngine(sqliteEngine({ directory: directory.path }));
  await using api = await startApi({ engine, rateLimit: 4 });
  await request(api, api.adminToken, 'GET', '/account/details');
  await api.usesWritten();
  const ask = async (token: string | null, method: string, path: string, body?: unknown) => {
    const { status, headers } = await request(api, token, method, path, { body });
    assert.equal(headers['x-content-type-options'], 'nosniff', `${status}`);
    assert.match(String(headers['x-request-id']), /^test/);
    return [status, headers['retry-after'] !== undefined];
  };
  assert.deepEqual(await ask(null, 'GET', '/account/details'), [401, false]);
  assert.deepEqual(await ask(api.adminToken, 'GET', '/nothing'), [404, false]);
  assert.deepEqual(await ask(api.adminToken, 'POST', '/organizations', '{'), [422, false]);
  commit.failNext(new StateError('unavailable', 'the store is away', { retryAfterSeconds: 5 }));
  const body = resource('organizations', { name: 'acme', email: 'a@example.org' });
  assert.deepEqual(await ask(api.adminToken, 'POST', '/organizations', body), [503, true]);
  assert.deepEqual(await ask(api.adminToken, 'GET', '/account/details'), [429, true]);
});

test('returns 401 without a valid token, whatever the Authorization header [TEAM-17] [TEAM-18] [TEAM-35]', async () => {
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
    assert.deepEqual(
      statusAndText(answer),
      [401, '{"errors":[{"status":"401","title":"unauthorized"}]}'],
      authorization,
    );
    assert.equal(answer.headers['www-authenticate'], 'Bearer');
  }
});
