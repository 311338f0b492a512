import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { startApi } from '../../../test/support/process/api.ts';
import type { Answer } from '../../../test/support/process/server.ts';

const indexOf = (answer: Answer): number => Number(answer.headers['x-service-index']);

describe('GET /v1/partition/:name', () => {
  test('ignores the case of the name', async () => {
    await using api = await startApi();
    await api.makePartitions('Eu');
    const { index } = api.state.snapshot;
    const answer = await api.request('GET', '/v1/partition/eU');
    assert.equal(answer.text, `{"Name":"Eu","Description":"","CreateIndex":${index},"ModifyIndex":${index}}`);
    assert.equal(indexOf(answer), index);
  });

  test('waits for a missing partition to appear, and for its deletion [ACL-60] [V1-77]', async () => {
    await using api = await startApi({ clock: createFakeClock() });
    const missing = await api.request('GET', '/v1/partition/eu');
    assert.deepEqual([missing.status, missing.text], [404, 'Partition not found for "eu"']);
    const appears = await api.startBlockingQuery(`/v1/partition/eu?index=${indexOf(missing)}`);
    await api.makePartitions('us');
    assert.equal(api.reads.waitingCount, 1, 'another partition does not wake it');
    await api.makePartitions('eu');
    const existing = await appears.answer;
    assert.equal(existing.status, 200);
    const disappears = await api.startBlockingQuery(`/v1/partition/eu?index=${indexOf(existing)}`);
    await api.request('DELETE', '/v1/partition/eu');
    const deleted = await disappears.answer;
    assert.equal(deleted.status, 404);
    assert.ok(indexOf(deleted) > indexOf(existing));
  });
});

describe('GET /v1/partitions', () => {
  test('is in order of name without regard to case', async () => {
    await using api = await startApi();
    await api.makePartitions('Zulu', 'alpha', 'Mike');
    const names = (await api.request('GET', '/v1/partitions')).json<{ Name: string }[]>().map(({ Name }) => Name);
    assert.deepEqual(names, ['alpha', 'default', 'Mike', 'Zulu']);
  });

  test('omits partitions that the caller may not read and sets the filter header [V1-86] [ACL-51]', async () => {
    await using api = await startApi();
    await api.makePartitions('eu', 'us');
    const { SecretID } = await api.makeToken(['operator:read@eu']);
    const part = await api.request('GET', '/v1/partitions', { token: SecretID });
    assert.deepEqual(
      part.json<{ Name: string }[]>().map(({ Name }) => Name),
      ['eu'],
    );
    assert.equal(part.headers['x-service-results-filtered-by-acls'], 'true');
    const all = await api.request('GET', '/v1/partitions?partition=*');
    assert.equal(all.json<unknown[]>().length, 3);
    assert.equal(all.headers['x-service-results-filtered-by-acls'], undefined);
  });

  test('wakes at every change, and its index does not decrease when the newest partition is deleted', async () => {
    await using api = await startApi({ clock: createFakeClock() });
    let index = indexOf(await api.request('GET', '/v1/partitions'));
    const changes = [
      ['PUT', { Description: 'one' }],
      ['PUT', { Description: 'two' }],
      ['DELETE', undefined],
    ] as const;
    for (const [method, body] of changes) {
      const { answer } = await api.startBlockingQuery(`/v1/partitions?index=${index}`);
      await api.request(method, '/v1/partition/eu', body === undefined ? {} : { body });
      const next = indexOf(await answer);
      assert.ok(next > index);
      index = next;
    }
    assert.ok(indexOf(await api.request('GET', '/v1/partitions')) >= index);
  });

  test('wakes when the grants of the caller change [V1-78]', async () => {
    await using api = await startApi({ clock: createFakeClock() });
    await api.makePartitions('eu');
    const { AccessorID, SecretID } = await api.makeToken(['operator:read@eu']);
    const before = await api.request('GET', '/v1/partitions', { token: SecretID });
    const { answer } = await api.startBlockingQuery(`/v1/partitions?index=${indexOf(before)}`, { token: SecretID });
    const body = { Grants: [{ Resource: 'operator', Access: 'read', Partition: '*' }] };
    await api.request('PUT', `/v1/acl/token/${AccessorID}`, { body });
    assert.equal((await answer).json<unknown[]>().length, 2);
  });
});
