import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startApi } from '../../../test/support/process/api.ts';

test('a deleted token stops working at once, and deleting it again succeeds without a commit [ACL-44]', async () => {
  await using api = await startApi();
  const { AccessorID, SecretID } = await api.makeToken(['acl:read']);
  const first = await api.request('DELETE', `/v1/acl/token/${AccessorID}`);
  assert.deepEqual([first.status, first.text, first.headers['content-length']], [200, '', '0']);
  const self = await api.request('GET', '/v1/acl/token/self', { token: SecretID });
  assert.deepEqual([self.status, self.text], [403, 'ACL not found']);
  const { snapshot } = api.state;
  const second = await api.request('DELETE', `/v1/acl/token/${AccessorID}`);
  assert.deepEqual([second.status, second.text], [200, '']);
  assert.equal(api.state.snapshot, snapshot);
});

test('DELETE finds the token in any partition unless the request names another one [ACL-37]', async () => {
  await using api = await startApi();
  await api.makePartitions('eu');
  const { AccessorID, SecretID } = await api.makeToken([], { Partition: 'eu' });
  const isValid = async () => (await api.request('GET', '/v1/acl/token/self', { token: SecretID })).status === 200;
  assert.equal((await api.request('DELETE', `/v1/acl/token/${AccessorID}?partition=default`)).status, 200);
  assert.equal(await isValid(), true);
  assert.equal((await api.request('DELETE', `/v1/acl/token/${AccessorID}`)).status, 200);
  assert.equal(await isValid(), false);
});

test('DELETE returns 403 when the caller lacks a grant of the token [ACL-29]', async () => {
  await using api = await startApi();
  const caller = await api.makeToken(['acl:write']);
  const { AccessorID, SecretID } = await api.makeToken(['peering:read']);
  const answer = await api.request('DELETE', `/v1/acl/token/${AccessorID}`, { token: caller.SecretID });
  const text = `Permission denied: token with AccessorID '${caller.AccessorID}' lacks permission 'peering:read'`;
  assert.deepEqual([answer.status, answer.text], [403, text]);
  assert.equal((await api.request('GET', '/v1/acl/token/self', { token: SecretID })).status, 200);
});

test('a token with acl:write can delete itself', async () => {
  await using api = await startApi();
  const { AccessorID, SecretID } = await api.makeToken(['acl:write']);
  assert.equal((await api.request('DELETE', `/v1/acl/token/${AccessorID}`, { token: SecretID })).status, 200);
  assert.equal((await api.request('DELETE', `/v1/acl/token/${AccessorID}`, { token: SecretID })).status, 403);
});

for (const method of ['GET', 'PUT', 'DELETE']) {
  test(`${method} with a secret ID in the path returns 400 with the accessor ID and changes nothing [ACL-39]`, async () => {
    await using api = await startApi();
    const { AccessorID, SecretID } = await api.makeToken(['acl:read']);
    const { snapshot } = api.state;
    const text = `Invalid accessor ID in the path: that is the secret ID of the token with AccessorID '${AccessorID}'`;
    for (const given of [SecretID, SecretID.toUpperCase()]) {
      const answer = await api.request(method, `/v1/acl/token/${given}`, { body: {} });
      assert.deepEqual([answer.status, answer.text], [400, text]);
    }
    assert.equal(api.state.snapshot, snapshot);
  });
}

test('an accessor ID that is not a UUID returns 400 without repeating the value [ACL-38]', async () => {
  await using api = await startApi();
  for (const given of ['self', 'not-a-uuid', 'aaaaaaaaaaaaaa.atlasv1.b']) {
    const answer = await api.request('DELETE', `/v1/acl/token/${given}`);
    const text =
      'Invalid accessor ID in the path: want a UUID, as GET /v1/acl/tokens and GET /v1/acl/token/self show it';
    assert.deepEqual([answer.status, answer.text], [400, text]);
  }
});
