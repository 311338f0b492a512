/** Tests which changes wake blocking queries of the catalog ([SVC-43]). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type HealthEntryJson,
  importedInstance,
  importFrom,
  mustDeregister,
  mustGet,
  mustRegister,
  requestRegister,
} from '../../../test/support/peering/catalog-requests.ts';
import { indexOfAnswer, mustGenerate } from '../../../test/support/peering/peering-requests.ts';
import { type Api, sharedApi, startApi } from '../../../test/support/process/api.ts';
import { until } from '../../../test/support/until.ts';
import { catalogServices } from './tables/catalog-service.ts';

/** Every kind of change to one service. */
const changes: Readonly<Record<string, (api: Api) => Promise<void>>> = {
  'a new instance': (api) => mustRegister(api, { Node: 'n2' }),
  'a new port': (api) => mustRegister(api, { Service: { Service: 'web', Port: 81 } }),
  'a new status of its check': (api) =>
    mustRegister(api, { Check: { Name: 's', Status: 'warning', ServiceID: 'web' } }),
  'a new address of its node': (api) => mustRegister(api, { Address: '10.0.0.2' }),
  'a new check of its node': (api) => mustRegister(api, { Check: { Name: 'n', Status: 'critical' } }),
  'its deregistration': (api) => mustDeregister(api, { Node: 'n1', ServiceID: 'web' }),
  'the deregistration of its check': (api) => mustDeregister(api, { Node: 'n1', CheckID: 's' }),
  'the deregistration of its node': (api) => mustDeregister(api, { Node: 'n1' }),
  'another service with its ID': (api) => mustRegister(api, { Service: { ID: 'web', Service: 'db' } }),
};

const reads = [
  '/v1/health/service/web',
  '/v1/health/service/web?failover=east',
  '/v1/health/state/any',
  '/v1/health/node/n1',
  '/v1/catalog/service/web',
  '/v1/catalog/services',
  '/v1/catalog/node/n1',
];

/** The changes that a read does not return and that need not wake it. */
const irrelevant: Readonly<Record<string, readonly string[]>> = {
  '/v1/health/node/n1': ['a new instance'],
  '/v1/catalog/node/n1': ['a new instance'],
};

for (const path of reads) {
  describe(`a blocking query of ${path} [SVC-2]`, () => {
    const shared = sharedApi();
    for (const [what, change] of Object.entries(changes)) {
      if (irrelevant[path]?.includes(what)) continue;
      test(`wakes on ${what}`, async () => {
        const api = shared();
        for (const Node of ['n1', 'n2']) await mustDeregister(api, { Node });
        await mustRegister(api, { Check: { Name: 's', Status: 'passing', ServiceID: 'web' } });
        const index = indexOfAnswer(await api.request('GET', path));
        const held = await api.startBlockingQuery(`${path}${path.includes('?') ? '&' : '?'}index=${index}`);
        await change(api);
        const answer = await held.answer;
        assert.ok(indexOfAnswer(answer) > index);
        assert.deepEqual(answer.json(), await mustGet(api, path));
      });
    }
  });
}

test('a service query does not wake on another service, partition or node', async () => {
  await using api = await startApi();
  await api.makePartitions('eu');
  await mustRegister(api);
  const held = await api.startBlockingQuery(`/v1/health/service/web?index=${api.state.snapshot.index}`);
  await mustRegister(api, { Node: 'n2', Service: { Service: 'db' } });
  await mustRegister(api, { Node: 'n2', Address: '10.0.0.9', Service: undefined });
  await mustRegister(api, { Node: 'n1', Service: { Service: 'db' } });
  await mustRegister(api, { Node: 'n1', Partition: 'eu' });
  await importUnrelated(api);
  assert.equal(api.reads.waitingCount, 1);
  await mustRegister(api, { Node: 'n3' });
  assert.equal((await held.answer).json<unknown[]>().length, 2);
});

async function importUnrelated(api: Api): Promise<void> {
  await mustGenerate(api, 'east');
  await importFrom(api, 'east', 'web', [importedInstance('web', 'e1')]);
}

test('a registration that changes nothing does not wake a query [SVC-18]', async () => {
  await using api = await startApi();
  await mustRegister(api);
  const held = await api.startBlockingQuery(`/v1/catalog/services?index=${api.state.snapshot.index}`);
  await mustRegister(api);
  assert.equal(api.reads.waitingCount, 1);
  await mustRegister(api, { Node: 'n2' });
  await held.answer;
});

test('queries of a missing service and a missing node wake when it is registered', async () => {
  await using api = await startApi();
  const { index } = api.state.snapshot;
  const service = await api.startBlockingQuery(`/v1/health/service/web?index=${index}`);
  const node = await api.startBlockingQuery(`/v1/catalog/node/n1?index=${index}`);
  await mustRegister(api);
  assert.equal((await service.answer).json<unknown[]>().length, 1);
  assert.notEqual((await node.answer).json(), null);
});

test('a query of a service on more nodes than WATCHED_NODES_MAX wakes on a change of any of them', async () => {
  await using api = await startApi();
  const count = 70;
  await Promise.all(Array.from({ length: count }, (_, i) => mustRegister(api, { Node: `n${i}` })));
  let index = indexOfAnswer(await api.request('GET', '/v1/health/service/web'));
  for (let left = count; left > 60; left--) {
    const held = await api.startBlockingQuery(`/v1/health/service/web?index=${index}`);
    await mustRegister(api, { Node: `n${left - 2}`, Address: `10.1.0.${left}` });
    const changed = await held.answer;
    assert.ok(indexOfAnswer(changed) > index);
    index = indexOfAnswer(changed);
    const again = await api.startBlockingQuery(`/v1/health/service/web?index=${index}`);
    await mustDeregister(api, { Node: `n${left - 1}` });
    const fewer = await again.answer;
    assert.equal(fewer.json<unknown[]>().length, left - 1);
    assert.ok(indexOfAnswer(fewer) > index);
    index = indexOfAnswer(fewer);
  }
});

test('the index never decreases while nodes and services are registered and deregistered', async () => {
  await using api = await startApi();
  let index = 0;
  const steps = [
    () => mustRegister(api),
    () => mustRegister(api, { Node: 'n2' }),
    () => mustDeregister(api, { Node: 'n2' }),
    () => until('the rows of the node are deleted', () => api.state.snapshot.count(catalogServices) === 1),
    () => mustDeregister(api, { Node: 'n1', ServiceID: 'web' }),
    () => mustDeregister(api, { Node: 'n1' }),
    () => mustRegister(api),
  ];
  for (const step of steps) {
    await step();
    const now = indexOfAnswer(await api.request('GET', '/v1/health/service/web'));
    assert.ok(now >= index, `${now} after ${index}`);
    index = now;
  }
});

describe('a blocking query with peer', () => {
  test('wakes when its service is added, changed and removed, but not on another service', async () => {
    await using api = await startApi();
    await mustGenerate(api, 'east');
    await mustGenerate(api, 'west');
    const path = '/v1/health/service/web?peer=east';
    const answerTo = async (change: () => Promise<void>): Promise<HealthEntryJson[]> => {
      const held = await api.startBlockingQuery(`${path}&index=${indexOfAnswer(await api.request('GET', path))}`);
      await importFrom(api, 'east', 'db', [importedInstance('db', `e${api.state.snapshot.index}`)]);
      await importFrom(api, 'west', 'web', [importedInstance('web', `w${api.state.snapshot.index}`)]);
      await requestRegister(api, { Node: `n${api.state.snapshot.index}` });
      assert.equal(api.reads.waitingCount, 1);
      await change();
      return (await held.answer).json<HealthEntryJson[]>();
    };
    assert.equal((await answerTo(() => importFrom(api, 'east', 'web', [importedInstance('web', 'e1')]))).length, 1);
    const changed = await answerTo(() => importFrom(api, 'east', 'web', [importedInstance('web', 'e1', 'critical')]));
    assert.equal(changed[0]?.Checks[0]?.Status, 'critical');
    assert.deepEqual(await answerTo(() => importFrom(api, 'east', 'web', [])), []);
  });

  test('wakes when the missing peering is created', async () => {
    await using api = await startApi();
    const path = '/v1/catalog/services?peer=east';
    const held = await api.startBlockingQuery(`${path}&index=${indexOfAnswer(await api.request('GET', path))}`);
    await mustGenerate(api, 'east');
    await importFrom(api, 'east', 'web', [importedInstance('web', 'e1')]);
    assert.deepEqual((await held.answer).json(), { web: [] });
  });

  test('wakes on any service of the peer when it reads the whole peer', async () => {
    await using api = await startApi();
    await mustGenerate(api, 'east');
    for (const path of ['/v1/catalog/services', '/v1/catalog/nodes', '/v1/health/state/any', '/v1/catalog/node/e1']) {
      const at = `${path}?peer=east`;
      const held = await api.startBlockingQuery(`${at}&index=${indexOfAnswer(await api.request('GET', at))}`);
      await importFrom(api, 'east', `s${api.state.snapshot.index}`, [importedInstance('s', 'e1')]);
      assert.deepEqual((await held.answer).json(), await mustGet(api, at));
    }
  });
});
