import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Api, sharedApi, startApi } from '../../../test/support/process/api.ts';
import type { Answer } from '../../../test/support/process/server.ts';

const put = (api: Api, name: string, body: unknown = {}, token = api.token): Promise<Answer> =>
  api.request('PUT', `/v1/partition/${name}`, { body, token });

describe('PUT /v1/partition/:name', () => {
  const shared = sharedApi();
  test('creates the partition, changes its description and keeps the spelling of its name [ACL-59] [ACL-57] [V1-44]', async () => {
    await using api = await startApi();
    const created = await put(api, 'Eu-West', { Description: 'Europe' });
    const { index } = api.state.snapshot;
    const document = { Name: 'Eu-West', Description: 'Europe', CreateIndex: index, ModifyIndex: index };
    assert.deepEqual([created.status, created.text], [200, JSON.stringify(document)]);
    const changed = await put(api, 'EU-WEST', { Name: 'eu-west', Description: 'all of it' });
    assert.equal(changed.text, JSON.stringify({ ...document, Description: 'all of it', ModifyIndex: index + 1 }));
  });

  test('makes no commit when nothing changes [V1-45]', async () => {
    await using api = await startApi();
    const created = await put(api, 'eu', { Description: 'Europe' });
    const { snapshot } = api.state;
    for (const body of [{}, { Description: 'Europe' }, created.text]) {
      const again = await put(api, 'eu', body);
      assert.equal(again.text, created.text);
      assert.equal(api.state.snapshot, snapshot);
    }
  });

  const rule =
    "is not a valid partition name: a valid partition name must consist of alphanumeric characters or '-', must start and end with an alphanumeric character, and be at most 63 characters long";
  for (const name of ['a_b', '-a', 'a-', 'a.b', '*', 'ü', 'x'.repeat(64), 'a b', '1/2']) {
    test(`rejects the name ${name} [ACL-49]`, async () => {
      const api = shared();
      const { snapshot } = api.state;
      const answer = await put(api, encodeURIComponent(name), {}, 'unknown');
      assert.deepEqual([answer.status, answer.text], [400, `${name} ${rule}`]);
      assert.equal(api.state.snapshot, snapshot);
    });
  }
  for (const name of ['a', '0', 'x'.repeat(63), 'A-1', 'peering', 'token']) {
    test(`accepts the name ${name}`, async () => {
      assert.equal((await put(shared(), name)).status, 200);
    });
  }

  test('rejects a body with another name [ACL-58] and a body that cannot be decoded', async () => {
    await using api = await startApi();
    const other = await put(api, 'eu', { Name: 'us' });
    assert.deepEqual([other.status, other.text], [400, 'Name "us" is not that of the path, "eu"']);
    for (const body of ['x', '[]', { Descriptio: '' }, { Description: 1 }, { Description: 'x'.repeat(1_025) }]) {
      const answer = await put(api, 'eu', body);
      assert.equal(answer.status, 400);
      assert.match(answer.text, /^Body decoding failed: /);
    }
  });
});
