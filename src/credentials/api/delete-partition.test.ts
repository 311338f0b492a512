import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { startApi } from '../../../test/support/process/api.ts';

test('an unused partition is deleted, and deleting it again succeeds without a commit [ACL-61]', async () => {
  await using api = await startApi();
  await api.makePartitions('Eu');
  const first = await api.request('DELETE', '/v1/partition/eu');
  assert.deepEqual([first.status, first.text], [200, '']);
  const { snapshot } = api.state;
  const second = await api.request('DELETE', '/v1/partition/eu');
  assert.deepEqual([second.status, second.text], [200, '']);
  assert.equal(api.state.snapshot, snapshot);
});

test('deleting the default partition returns 409 [ACL-61]', async () => {
  await using api = await startApi();
  const answer = await api.request('DELETE', '/v1/partition/Default');
  assert.deepEqual([answer.status, answer.text], [409, 'partition "default" cannot be deleted']);
});

test('deleting a partition returns 409 while a token lives in it or a grant names it [ACL-62]', async () => {
  await using api = await startApi();
  await api.makePartitions('Eu');
  const users = [
    [{ Partition: 'EU' }, (id: string) => `ACL token ${id}, which lives in it`],
    [
      { Grants: [{ Resource: 'config', Access: 'read', Partition: 'EU' }] },
      (id: string) => `a grant of ACL token ${id}`,
    ],
  ] as const;
  for (const [body, user] of users) {
    const { AccessorID } = (await api.request('PUT', '/v1/acl/token', { body })).json<{ AccessorID: string }>();
    const answer = await api.request('DELETE', '/v1/partition/eu');
    assert.deepEqual([answer.status, answer.text], [409, `partition "Eu" is still named by ${user(AccessorID)}`]);
    await api.request('DELETE', `/v1/acl/token/${AccessorID}`);
  }
  assert.equal((await api.request('DELETE', '/v1/partition/eu')).status, 200);
});

test('the conflict names nothing that the caller may not read [ACL-62]', async () => {
  await using api = await startApi();
  await api.makePartitions('eu');
  const { SecretID: token } = await api.makeToken(['operator:write@*']);
  const users = [
    ['acl', { method: 'PUT', path: '/v1/acl/token', body: { Partition: 'eu' } }],
    ['peering', { method: 'POST', path: '/v1/peering/token', body: { PeerName: 'east', Partition: 'eu' } }],
  ] as const;
  for (const [resource, { method, path, body }] of users) {
    assert.equal((await api.request(method, path, { body })).status, 200);
    const { status, text } = await api.request('DELETE', '/v1/partition/eu', { token });
    const wanted = `partition "eu" is still named by something that only '${resource}:read' may see`;
    assert.deepEqual([status, text], [409, wanted]);
    const listed = await api.request('GET', '/v1/acl/tokens?partition=eu');
    for (const { AccessorID } of listed.json<readonly { AccessorID: string }[]>()) {
      await api.request('DELETE', `/v1/acl/token/${AccessorID}`);
    }
  }
});

test('an expired token does not prevent the deletion of its partition', async () => {
  const clock = createFakeClock();
  await using api = await startApi({ clock });
  await api.makePartitions('eu');
  await api.makeToken(['config:read@eu'], { Partition: 'eu', ExpirationTTL: '1m' });
  assert.equal((await api.request('DELETE', '/v1/partition/eu')).status, 409);
  clock.advance(60_000);
  assert.equal((await api.request('DELETE', '/v1/partition/eu')).status, 200);
});

test('a partition created again does not have the description of the deleted one', async () => {
  await using api = await startApi();
  await api.request('PUT', '/v1/partition/eu', { body: { Description: 'old' } });
  await api.request('DELETE', '/v1/partition/eu');
  const again = await api.request('PUT', '/v1/partition/eu', { body: {} });
  const { index } = api.state.snapshot;
  assert.equal(again.text, `{"Name":"eu","Description":"","CreateIndex":${index},"ModifyIndex":${index}}`);
});
