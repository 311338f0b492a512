import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startApi } from '../../test/support/api.ts';

test('a deleted token ends at once, and deleting it again is no change', async () => {
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

test('a token is deleted wherever it lives, unless the request names another partition', async () => {
  await using api = await startApi();
  await api.makePartitions('eu');
  const { AccessorID, SecretID } = await api.makeToken([], { Partition: 'eu' });
  const lives = async () => (await api.request('GET', '/v1/acl/token/self', { token: SecretID })).status === 200;
  assert.equal((await api.request('DELETE', `/v1/acl/token/${AccessorID}?partition=default`)).status, 200);
  assert.equal(await lives(), true);
  assert.equal((await api.request('DELETE', `/v1/acl/token/${AccessorID}`)).status, 200);
  assert.equal(await lives(), false);
});

test('a token is not deleted by one that could not have made it', async () => {
  await using api = await startApi();
  const maker = await api.makeToken(['acl:write']);
  const { AccessorID, SecretID } = await api.makeToken(['peering:read']);
  const answer = await api.request('DELETE', `/v1/acl/token/${AccessorID}`, { token: maker.SecretID });
  const text = `Permission denied: token with AccessorID '${maker.AccessorID}' lacks permission 'peering:read'`;
  assert.deepEqual([answer.status, answer.text], [403, text]);
  assert.equal((await api.request('GET', '/v1/acl/token/self', { token: SecretID })).status, 200);
});

test('a token may delete itself where it may write tokens', async () => {
  await using api = await startApi();
  const { AccessorID, SecretID } = await api.makeToken(['acl:write']);
  assert.equal((await api.request('DELETE', `/v1/acl/token/${AccessorID}`, { token: SecretID })).status, 200);
  assert.equal((await api.request('DELETE', `/v1/acl/token/${AccessorID}`, { token: SecretID })).status, 403);
});
