/** What wakes a read that waits, and what does not: its index is never too low, and as far as can be not too high. */
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

/** Everything about one service that can change, with what makes it so. */
const changes: Readonly<Record<string, (api: Api) => Promise<void>>> = {
  'another instance': (api) => registered(api, { Node: 'n2' }),
  'its port': (api) => registered(api, { Service: { Service: 'web', Port: 81 } }),
  'its check': (api) => registered(api, { Check: { Name: 's', Status: 'warning', ServiceID: 'web' } }),
  'the address of its node': (api) => registered(api, { Address: '10.0.0.2' }),
  'a check of its node': (api) => registered(api, { Check: { Name: 'n', Status: 'critical' } }),
  'that it goes': (api) => deregistered(api, { Node: 'n1', ServiceID: 'web' }),
  'that its check goes': (api) => deregistered(api, { Node: 'n1', CheckID: 's' }),
  'that its node goes': (api) => deregistered(api, { Node: 'n1' }),
  'that its ID is another service': (api) => registered(api, { Service: { ID: 'web', Service: 'db' } }),
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

/** What a read does not show, so that it need not be woken by it. */
const unseen: Readonly<Record<string, readonly string[]>> = {
  '/v1/health/node/n1': ['another instance'],
  '/v1/catalog/node/n1': ['another instance'],
};

for (const path of reads) {
  describe(`a waiting GET ${path}`, () => {
    const shared = sharedApi();
    for (const [what, change] of Object.entries(changes)) {
      if (unseen[path]?.includes(what)) continue;
      test(`is answered by ${what}`, async () => {
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

test('another service, another partition and another node wake nobody who waits for one service', async () => {
  await using api = await startApi();
  await api.makePartitions('eu');
  await registered(api);
  const held = await api.hold(`/v1/health/service/web?index=${api.state.snapshot.index}`);
  await registered(api, { Node: 'n2', Service: { Service: 'db' } });
  await registered(api, { Node: 'n2', Address: '10.0.0.9', Service: undefined });
  await registered(api, { Node: 'n1', Service: { Service: 'db' } });
  await registered(api, { Node: 'n1', Partition: 'eu' });
  await importNone(api);
  assert.equal(api.reads.waitingCount, 1);
  await registered(api, { Node: 'n3' });
  assert.equal((await held.answer).json<unknown[]>().length, 2);
});

async function importNone(api: Api): Promise<void> {
  await generated(api, 'east');
  await importFrom(api, 'east', 'web', [imported('web', 'e1')]);
}

test('a registration that changes nothing wakes nobody', async () => {
  await using api = await startApi();
  await registered(api);
  const held = await api.hold(`/v1/catalog/services?index=${api.state.snapshot.index}`);
  await registered(api);
  assert.equal(api.reads.waitingCount, 1);
  await registered(api, { Node: 'n2' });
  await held.answer;
});

test('a service that is not there yet is waited for, as is a node', async () => {
  await using api = await startApi();
  const { index } = api.state.snapshot;
  const service = await api.hold(`/v1/health/service/web?index=${index}`);
  const node = await api.hold(`/v1/catalog/node/n1?index=${index}`);
  await registered(api);
  assert.equal((await service.answer).json<unknown[]>().length, 1);
  assert.notEqual((await node.answer).json(), null);
});

test('a service on more nodes than are waited for one by one is answered by the change of any of them', async () => {
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

test('the index never falls while nodes and services come and go', async () => {
  await using api = await startApi();
  let index = 0;
  const steps = [
    () => registered(api),
    () => registered(api, { Node: 'n2' }),
    () => deregistered(api, { Node: 'n2' }),
    () => until('it is dropped', () => api.state.snapshot.count(catalogServices) === 1),
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

describe('a read of what comes from a peer', () => {
  test('is answered when its service comes, changes and goes, and not by another one', async () => {
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

  test('is answered from one that is established later', async () => {
    await using api = await startApi();
    const path = '/v1/catalog/services?peer=east';
    const held = await api.hold(`${path}&index=${indexOf(await api.request('GET', path))}`);
    await generated(api, 'east');
    await importFrom(api, 'east', 'web', [imported('web', 'e1')]);
    assert.deepEqual((await held.answer).json(), { web: [] });
  });

  test('of a whole peer is answered by any of its services', async () => {
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
