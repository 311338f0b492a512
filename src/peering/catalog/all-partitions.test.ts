import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Fields, mustGet, mustRegister } from '../../../test/support/peering/catalog-requests.ts';
import { statusAndText } from '../../../test/support/peering/peering-requests.ts';
import { sharedApi } from '../../../test/support/process/api.ts';
import type { Answer } from '../../../test/support/process/server.ts';

describe('partition=* [ACL-51] [V1-89]', () => {
  const api = sharedApi();
  const ALL = '?partition=*';

  test('lists the items of every partition and wakes on a change in any of them [SVC-2] [SVC-29]', async () => {
    await api().makePartitions('eu', 'us');
    const check = { CheckID: 'c', Status: 'warning' };
    await mustRegister(api(), { Service: { Service: 'web', Tags: ['a'] } });
    await mustRegister(api(), { Partition: 'eu', Service: { Service: 'web', Tags: ['b'] }, Check: check });
    await mustRegister(api(), { Partition: 'us', Service: { Service: 'db' } });
    assert.deepEqual(await mustGet(api(), `/v1/catalog/services${ALL}`), { db: [], web: ['a', 'b'] });
    const nodes = await mustGet<Fields[]>(api(), `/v1/catalog/nodes${ALL}`);
    assert.deepEqual(
      nodes.map(({ Node, Partition }) => [Node, Partition]),
      [
        ['n1', 'default'],
        ['n1', 'eu'],
        ['n1', 'us'],
      ],
    );
    const checks = await mustGet<Fields[]>(api(), `/v1/health/state/warning${ALL}`);
    assert.deepEqual(
      checks.map(({ CheckID, Partition }) => [CheckID, Partition]),
      [['c', 'eu']],
    );
    const { index } = api().state.snapshot;
    const held = await api().startBlockingQuery(`/v1/catalog/services${ALL}&index=${index}`);
    await mustRegister(api(), { Partition: 'us', Service: { Service: 'cache' } });
    assert.deepEqual(Object.keys((await held.answer).json<object>()), ['cache', 'db', 'web']);
  });

  test('omits what the token may not read and sets the filter header', async () => {
    await api().makePartitions('one', 'two', 'three');
    for (const Partition of ['one', 'two', 'three']) {
      for (const Service of ['seen', 'unseen']) {
        await mustRegister(api(), { Partition, Node: `${Partition}-${Service}`, Service: { Service } });
      }
    }
    const { SecretID: token } = await api().makeToken(['services:read@one', 'services:read@two=seen']);
    const ask = (path: string, secret: string | null = token): Promise<Answer> =>
      api().request('GET', `${path}${ALL}`, { token: secret });
    const nodes = await ask('/v1/catalog/nodes');
    assert.deepEqual(
      nodes.json<Fields[]>().map(({ Node }) => Node),
      ['one-seen', 'one-unseen', 'two-seen'],
    );
    assert.equal(nodes.headers['x-service-results-filtered-by-acls'], 'true');
    assert.deepEqual(Object.keys((await ask('/v1/catalog/services')).json<object>()), ['seen', 'unseen']);
    const { SecretID: other } = await api().makeToken(['services:read@two=seen']);
    assert.deepEqual(Object.keys((await ask('/v1/catalog/services', other)).json<object>()), ['seen']);
    assert.equal((await ask('/v1/catalog/services', null)).status, 403);
  });

  for (const path of [
    '/v1/catalog/service/web',
    '/v1/catalog/node/n1',
    '/v1/health/service/web',
    '/v1/agent/services',
  ]) {
    test(`returns 400 at ${path}, which is not a list ([ACL-52])`, async () => {
      const text = '* is not a valid partition name: only lists accept *, for all partitions';
      assert.deepEqual(statusAndText(await api().request('GET', `${path}${ALL}`)), [400, text]);
    });
  }
});
