/** Tests the lists of exported and imported services ([SVC-76], [SVC-81]). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { mustDeregister, mustGet, mustRegister } from '../../../../test/support/peering/catalog-requests.ts';
import { exportEntry, intentionEntry, mustWrite } from '../../../../test/support/peering/config-entry-requests.ts';
import { indexOfAnswer, mustGenerate } from '../../../../test/support/peering/peering-requests.ts';
import { type Api, sharedApi, startApi } from '../../../../test/support/process/api.ts';
import type { Answer, RequestOptions } from '../../../../test/support/process/server.ts';
import { nameEntry, peerings } from '../../record/record.ts';

const FILTERED = 'x-service-results-filtered-by-acls';

const list = (api: Api, what: 'exported' | 'imported', query = '', options?: RequestOptions): Promise<Answer> =>
  api.request('GET', `/v1/${what}-services${query}`, options);

async function services(api: Api, partition: string, ...names: string[]): Promise<void> {
  for (const name of names) {
    await mustRegister(api, { Node: `n-${partition}`, Partition: partition, Service: { ID: name, Service: name } });
  }
}

/** Stores the names that a peer exports, as its stream would. */
async function importedNames(api: Api, partition: string, peer: string, ...imported: string[]): Promise<void> {
  await api.state.write((tx) => {
    const stored = tx.find(peerings, 'name', nameEntry(partition, peer));
    assert.ok(stored !== undefined);
    tx.put(peerings, { ...stored.row, imported });
  });
}

describe('GET /v1/exported-services', () => {
  test('is empty without an entry', async () => {
    await using api = await startApi();
    await services(api, 'default', 'web');
    assert.equal((await list(api, 'exported')).text, '[]');
  });

  test('lists each registered service that has consumers [SVC-75]', async () => {
    await using api = await startApi();
    await api.makePartitions('eu');
    await services(api, 'default', 'web', 'Db', 'api', 'consul');
    await mustWrite(
      api,
      exportEntry({ '*': ['West', 'east'], db: ['partition:EU'], mail: ['east'], api: ['east', 'East'] }),
    );
    assert.deepEqual((await list(api, 'exported')).json(), [
      { Service: 'api', Partition: 'default', Consumers: { Peers: ['east'] } },
      { Service: 'Db', Partition: 'default', Consumers: { Partitions: ['EU'] } },
      { Service: 'web', Partition: 'default', Consumers: { Peers: ['east', 'West'] } },
    ]);
    await mustDeregister(api, { Node: 'n-default', ServiceID: 'api' });
    assert.equal((await list(api, 'exported')).json<unknown[]>().length, 2);
  });

  test('covers the requested partition, or with * every partition whose entry the token may read', async () => {
    await using api = await startApi();
    await api.makePartitions('eu', 'us');
    for (const name of ['default', 'eu', 'us']) {
      await services(api, name, `web-${name}`);
      await mustWrite(api, exportEntry({ '*': ['east'] }, { Name: name }));
    }
    const formatted = (answer: Answer): string[] => {
      assert.equal(answer.status, 200, answer.text);
      return answer.json<{ Service: string; Partition: string }[]>().map((one) => `${one.Service}@${one.Partition}`);
    };
    assert.deepEqual(formatted(await list(api, 'exported', '?partition=EU')), ['web-eu@eu']);
    const all = await list(api, 'exported', '?partition=*');
    assert.deepEqual(formatted(all), ['web-default@default', 'web-eu@eu', 'web-us@us']);
    assert.equal(all.headers[FILTERED], undefined);
    const { SecretID: token } = await api.makeToken(['config:read@eu=eu', 'config:write@us=web']);
    const some = await list(api, 'exported', '?partition=*', { token });
    assert.deepEqual(formatted(some), ['web-eu@eu']);
    assert.equal(some.headers[FILTERED], 'true');
    assert.equal((await list(api, 'exported', '?partition=us', { token })).status, 403);
  });

  test('wakes on the entry and on services of the partition only [SVC-2]', async () => {
    await using api = await startApi();
    await api.makePartitions('eu');
    let last = await list(api, 'exported');
    const held = () => api.startBlockingQuery(`/v1/exported-services?index=${indexOfAnswer(last)}`);
    let { answer } = await held();
    await services(api, 'eu', 'web');
    await mustWrite(api, intentionEntry('web', ['allow *']));
    assert.equal(api.reads.waitingCount, 1);
    await mustWrite(api, exportEntry({ '*': ['east'] }));
    last = await answer;
    assert.equal(last.text, '[]');
    ({ answer } = await held());
    await services(api, 'default', 'web');
    assert.equal((await answer).json<unknown[]>().length, 1);
  });
});

describe('GET /v1/imported-services', () => {
  const api = sharedApi();
  const names = (answer: Answer): string[] => {
    assert.equal(answer.status, 200, answer.text);
    return answer
      .json<{ Service: string; Partition: string; SourcePeer: string }[]>()
      .map((one) => `${one.Service}@${one.Partition}/${one.SourcePeer}`);
  };

  test('lists equal names of several peers separately', async () => {
    await api().makePartitions('eu');
    await mustGenerate(api(), 'West');
    await mustGenerate(api(), 'east');
    await mustGenerate(api(), 'north', { Partition: 'eu' });
    assert.equal((await list(api(), 'imported')).text, '[]');
    await importedNames(api(), 'default', 'west', 'db', 'Web');
    await importedNames(api(), 'default', 'east', 'web');
    await importedNames(api(), 'eu', 'north', 'web');
    assert.deepEqual(await mustGet(api(), '/v1/imported-services?partition=eu'), [
      { Service: 'web', Partition: 'eu', SourcePeer: 'north' },
    ]);
    const own = ['db@default/West', 'web@default/east', 'Web@default/West'];
    assert.deepEqual(names(await list(api(), 'imported')), own);
    assert.deepEqual(names(await list(api(), 'imported', '?partition=*')), [...own, 'web@eu/north']);
  });

  test('omits services that the token may not read', async () => {
    const { SecretID: token } = await api().makeToken(['services:read@default=d*']);
    for (const query of ['', '?partition=*']) {
      const some = await list(api(), 'imported', query, { token });
      assert.deepEqual(names(some), ['db@default/West']);
      assert.equal(some.headers[FILTERED], 'true');
    }
    assert.equal((await list(api(), 'imported', '?partition=eu', { token })).status, 403);
    const { SecretID: none } = await api().makeToken(['config:write@*', 'peering:write@*']);
    assert.equal((await list(api(), 'imported', '', { token: none })).status, 403);
  });

  test('wakes on a change in its partition only [SVC-2]', async () => {
    const first = await list(api(), 'imported');
    const { answer } = await api().startBlockingQuery(`/v1/imported-services?index=${indexOfAnswer(first)}`);
    await importedNames(api(), 'eu', 'north', 'web', 'api');
    assert.equal(api().reads.waitingCount, 1);
    await importedNames(api(), 'default', 'east');
    assert.deepEqual(names(await answer), ['db@default/West', 'Web@default/West']);
  });
});
