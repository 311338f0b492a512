import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, test } from 'node:test';
import { sharedApi } from '../../../test/support/process/api.ts';
import { errorsOf, request, resource } from '../../../test/support/team-access/team-access.ts';

describe('content negotiation', () => {
  const api = sharedApi();
  const accepting = async (accept: string): Promise<number> =>
    (await request(api(), api().adminToken, 'GET', '/account/details', { headers: { accept } })).status;

  for (const accept of [
    'application/vnd.api+json',
    '*/*',
    'application/*',
    'text/html, application/vnd.api+json;q=0.1',
  ]) {
    test(`accepts Accept: ${accept} [TEAM-20]`, async () => {
      assert.equal(await accepting(accept), 200);
    });
  }
  for (const accept of ['text/html', 'application/json', 'application/vnd.api+json;q=0, */*', '*/*;q=0']) {
    test(`returns 406 for Accept: ${accept} [TEAM-20]`, async () => {
      assert.equal(await accepting(accept), 406);
    });
  }

  const declaring = (contentType: string, method = 'POST', path = '/organizations') =>
    request(api(), api().adminToken, method, path, {
      body: resource('organizations', { name: 1 }),
      headers: { 'content-type': contentType },
    });
  for (const contentType of [
    'application/vnd.api+json',
    'application/vnd.api+json; charset=utf-8',
    'Application/Vnd.API+JSON',
  ]) {
    test(`accepts Content-Type: ${contentType} [TEAM-19]`, async () => {
      assert.equal((await declaring(contentType)).status, 422);
    });
  }
  for (const contentType of ['application/json', '', 'application/vnd.api+jsonx']) {
    test(`returns 415 for Content-Type: ${JSON.stringify(contentType)} [TEAM-19]`, async () => {
      const answer = await declaring(contentType);
      assert.equal(answer.status, 415);
      assert.deepEqual(errorsOf(answer), [
        { status: '415', title: 'invalid content type', detail: 'content-type must be application/vnd.api+json' },
      ]);
    });
  }
  test('requires no Content-Type for a DELETE without a body [TEAM-19]', async () => {
    const bare = await api().request('DELETE', '/api/v2/organizations/nowhere', {
      token: null,
      headers: { authorization: `Bearer ${api().adminToken}` },
    });
    assert.equal(bare.status, 404);
    assert.equal((await declaring('text/plain', 'DELETE', '/organizations/nowhere')).status, 415);
  });
  test('is checked before a large body is read [TEAM-19]', async () => {
    const statusOf = async (path: string, contentType: string, token: string): Promise<string> => {
      const { hostname, port } = new URL(api().address);
      const socket = connect({ host: hostname, port: Number(port) });
      const head = [`POST /api/v2${path} HTTP/1.1`, 'Host: localhost', `Authorization: Bearer ${token}`];
      socket.write([...head, `Content-Type: ${contentType}`, 'Content-Length: 500000', '', '{'].join('\r\n'));
      const [data] = (await once(socket, 'data')) as [Buffer];
      socket.destroy();
      return data.toString().split(' ', 2)[1] ?? '';
    };
    const { adminToken } = api();
    assert.equal(await statusOf('/organizations', 'application/json', adminToken), '415');
    assert.equal(await statusOf('/operations', 'application/vnd.api+json', adminToken), '415');
    assert.equal(await statusOf('/organizations', 'application/json', 'unknown'), '401');
  });
  test('follows authentication and precedes the check of the body', async () => {
    const headers = { 'content-type': 'text/plain' };
    assert.equal((await request(api(), null, 'POST', '/organizations', { body: '{', headers })).status, 401);
    assert.equal(
      (await request(api(), api().adminToken, 'POST', '/organizations', { body: '{', headers })).status,
      415,
    );
  });
});
