/** Tests which changes wake blocking queries of the catalog ([SVC-43]). */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  deregistered,
  got,
  imported,
  importFrom,
  register,
  registered,
  type ShownEntry,
} from '../../../test/support/peering/catalog.ts';
import { generated, indexOf } from '../../../test/support/peering/peering.ts';
import { type Api, sharedApi, startApi } from '../../../test/support/process/api.ts';
import { until } from '../../../test/support/until.ts';
import { catalogServices } from './tables/catalog-service.ts';

/** Every kind of change to one service. */
const changes: Readonly<Record<string, (api: Api) => Promise<void>>> = {
  'a new instance': (api) => registered(api, { Node: 'n2' }),
  'a new port': (api) => registered(api, { Service: { Service: 'web', Port: 81 } }),
  'a new status of its check': (api) => registered(api, { Check: { Name: 's', Status: 'warning', ServiceID: 'web' } }),
  'a new address of its node': (api) => registered(api, { Address: '10.0.0.2' }),
  'a new check of its node': (api) => registered(api, { Check: { Name: 'n', Status: 'critical' } }),
  'its deregistration': (api) => deregistered(api, { Node: 'n1', ServiceID: 'web' }),
  'the deregistration of its check': (api) => deregistered(api, { Node: 'n1', CheckID: 's' }),
  'the deregistration of its node': (api) => deregistered(api, { Node: 'n1' }),
  'another service with its ID': (api) => registered(api, { Service: { ID: 'web', Service: 'db' } }),
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
  describe(`a blocking query of ${path}`, () => {
    const shared = sharedApi();
    for (const [what, change] of Object.entries(changes)) {
      if (irrelevant[path]?.includes(what)) continue;
      test(`wakes on ${what}`, async () => {
        const api = shared();
        for (const Node of ['n1', 'n2']) await deregistered(api, { Node });
        await registered(api, { Check: { Name: 's', Status: 'passing', ServiceID: 'web' } });
        const index = indexOf(await api.request('GET', path));
        const held = await api.hold(`${path}${path.includes('?') ? '&' : '?'}index=${index}`);
        await change(api);
        const answer = await held.answer;
        assert.ok(indexOf(answer) > index);
        assert.deepEqual(answer.json(), await got(api, path));
      });
    }
  });
}

test('a service query does not wake on another service, partition or node', async () => {
  await using api = await startApi();
  await api.makePartitions('eu');
  await registered(api);
  const held = await api.hold(`/v1/health/service/web?index=${api.state.snapshot.index}`);
  await registered(api, { Node: 'n2', Service: { Service: 'db' } });
  await registered(api, { Node: 'n2', Address: '10.0.0.9', Service: undefined });
  await registered(api, { Node: 'n1', Service: { Service: 'db' } });
  await registered(api, { Node: 'n1', Partition: 'eu' });
  await importUnrelated(api);
  assert.equal(api.reads.waitingCount, 1);
  await registered(api, { Node: 'n3' });
  assert.equal((await held.answer).json<unknown[]>().length, 2);
});

async function importUnrelated(api: Api): Promise<void> {
  await generated(api, 'east');
  await importFrom(api, 'east', 'web', [imported('web', 'e1')]);
}

test('a registration that changes nothing does not wake a query', async () => {
  await using api = await startApi();
  await registered(api);
  const held = await api.hold(`/v1/catalog/services?index=${api.state.snapshot.index}`);
  await registered(api);
  assert.equal(api.reads.waitingCount, 1);
  await registered(api, { Node: 'n2' });
  await held.answer;
});

test('queries of a missing service and a missing node wake when it is registered', async () => {
  await using api = await startApi();
  const { index } = api.state.snapshot;
  const service = await api.hold(`/v1/health/service/web?index=${index}`);
  const node = await api.hold(`/v1/catalog/node/n1?index=${index}`);
  await registered(api);
  assert.equal((await service.answer).json<unknown[]>().length, 1);
  assert.notEqual((await node.answer).json(), null);
});

test('a query of a service on more nodes than WATCHED_NODES_MAX wakes on a change of any of them', async () => {
  await using api = await startApi();
  const count = 70;
  await Promise.all(Array.from({ length: count }, (_, i) => registered(api, { Node: `n${i}` })));
  let index = indexOf(await api.request('GET', '/v1/health/service/web'));
  for (let left = count; left > 60; left--) {
    const held = await api.hold(`/v1/health/service/web?index=${index}`);
    await registered(api, { Node: `n${left - 2}`, Address: `10.1.0.${left}` });
    const changed = await held.answer;
    assert.ok(indexOf(changed) > index);
    index = indexOf(changed);
    const again = await api.hold(`/v1/health/service/web?index=${index}`);
    await deregistered(api, { Node: `n${left - 1}` });
    const fewer = await again.answer;
    assert.equal(fewer.json<unknown[]>().length, left - 1);
    assert.ok(indexOf(fewer) > index);
    index = indexOf(fewer);
  }
});

test('the index never decreases while nodes and services are registered and deregistered', async () => {
  await using api = await startApi();
  let index = 0;
  const steps = [
    () => registered(api),
    () => registered(api, { Node: 'n2' }),
    () => deregistered(api, { Node: 'n2' }),
    () => until('the rows of the node are deleted', () => api.state.snapshot.count(catalogServices) === 1),
    () => deregistered(api, { Node: 'n1', ServiceID: 'web' }),
    () => deregistered(api, { Node: 'n1' }),
    () => registered(api),
  ];
  for (const step of steps) {
    await step();
    const now = indexOf(await api.request('GET', '/v1/health/service/web'));
    assert.ok(now >= index, `${now} after ${index}`);
    index = now;
  }
});

describe('a blocking query with peer', () => {
  test('wakes when its service is added, changed and removed, but not on another service', async () => {
    await using api = await startApi();
    await generated(api, 'east');
    await generated(api, 'west');
    const path = '/v1/health/service/web?peer=east';
    const answerTo = async (change: () => Promise<void>): Promise<ShownEntry[]> => {
      const held = await api.hold(`${path}&index=${indexOf(await api.request('GET', path))}`);
      await importFrom(api, 'east', 'db', [imported('db', `e${api.state.snapshot.index}`)]);
      await importFrom(api, 'west', 'web', [imported('web', `w${api.state.snapshot.index}`)]);
      await register(api, { Node: `n${api.state.snapshot.index}` });
      assert.equal(api.reads.waitingCount, 1);
      await change();
      return (await held.answer).json<ShownEntry[]>();
    };
    assert.equal((await answerTo(() => importFrom(api, 'east', 'web', [imported('web', 'e1')]))).length, 1);
    const changed = await answerTo(() => importFrom(api, 'east', 'web', [imported('web', 'e1', 'critical')]));
    assert.equal(changed[0]?.Checks[0]?.Status, 'critical');
    assert.deepEqual(await answerTo(() => importFrom(api, 'east', 'web', [])), []);
  });

  test('wakes when the missing peering is created', async () => {
    await using api = await startApi();
    const path = '/v1/catalog/services?peer=east';
    const held = await api.hold(`${path}&index=${indexOf(await api.request('GET', path))}`);
    await generated(api, 'east');
    await importFrom(api, 'east', 'web', [imported('web', 'e1')]);
    assert.deepEqual((await held.answer).json(), { web: [] });
  });

  test('wakes on any service of the peer when it reads the whole peer', async () => {
    await using api = await startApi();
    await generated(api, 'east');
    for (const path of ['/v1/catalog/services', '/v1/catalog/nodes', '/v1/health/state/any', '/v1/catalog/node/e1']) {
      const at = `${path}?peer=east`;
      const held = await api.hold(`${at}&index=${indexOf(await api.request('GET', at))}`);
      await importFrom(api, 'east', `s${api.state.snapshot.index}`, [imported('s', 'e1')]);
      assert.deepEqual((await held.answer).json(), await got(api, at));
    }
  });
});
