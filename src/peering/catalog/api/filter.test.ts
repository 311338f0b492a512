import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  healthOf,
  importedInstance,
  importFrom,
  mustGet,
  mustRegister,
  mustRegisterWithAgent,
} from '../../../../test/support/peering/catalog-requests.ts';
import { mustGenerate, statusAndText } from '../../../../test/support/peering/peering-requests.ts';
import { type Api, startApi } from '../../../../test/support/process/api.ts';

describe('filter and node-meta', () => {
  let api: Api;
  before(async () => {
    api = await startApi({ consul: true });
    const register = (Node: string, rack: string, Status: string, Tags: readonly string[]): Promise<void> =>
      mustRegister(api, {
        Node,
        NodeMeta: { rack, zone: 'z' },
        Service: { Service: 'web', Tags, Port: 8080, Meta: { team: rack } },
        Check: { CheckID: `${Node}-up`, Name: 'up', Status, ServiceID: 'web' },
      });
    await register('n1', '1', 'passing', ['v1']);
    await register('n2', '2', 'warning', ['v2']);
    await register('n3', '2', 'passing', ['v2']);
    await mustRegister(api, { Node: 'd', Service: { Service: 'db' } });
    await mustRegisterWithAgent(api, { Name: 'own', Tags: ['x'], Check: { TTL: '30s' } });
    await mustRegisterWithAgent(api, { Name: 'other' });
    await api.request('PUT', '/v1/config', {
      body: { Kind: 'service-intentions', Name: 'web', Sources: [{ Name: 'db', Action: 'allow' }] },
    });
  });
  after(() => api[Symbol.asyncDispose]());

  const withFilter = (path: string, filter: string): string =>
    `${path}${path.includes('?') ? '&' : '?'}filter=${encodeURIComponent(filter)}`;
  const nodesOf = async (path: string): Promise<readonly string[]> =>
    (await mustGet<{ Node: string }[]>(api, path)).map(({ Node }) => Node);

  test('select instances by what their entry shows [SVC-110] [V1-94]', async () => {
    const select = (filter: string) => healthOf(api, 'web', withFilter('', filter));
    assert.deepEqual(await select('Service.Tags contains v2'), ['n2/web warning', 'n3/web passing']);
    assert.deepEqual(await select('Checks.Status == passing and Node.Meta.rack == 2'), ['n3/web passing']);
    assert.deepEqual(await select('Service.Meta["team"] != "2" or Node.Node matches "^n2$"'), [
      'n1/web passing',
      'n2/web warning',
    ]);
    assert.deepEqual(await select('Service.Port == 80'), []);
    assert.deepEqual(await healthOf(api, 'web', withFilter('?passing&tag=v2', 'Node.Node != n2')), ['n3/web passing']);
  });

  test('select from every list that has a filter [SVC-110]', async () => {
    assert.deepEqual(await nodesOf(withFilter('/v1/catalog/service/web', 'ServiceTags contains v1')), ['n1']);
    assert.deepEqual(await nodesOf(withFilter('/v1/catalog/nodes', 'Meta.rack == 2')), ['n2', 'n3']);
    assert.deepEqual(await nodesOf(withFilter('/v1/health/state/any', 'CheckID == "n2-up"')), ['n2']);
    assert.deepEqual(await nodesOf(withFilter('/v1/health/node/n2', 'Status == passing')), []);
    assert.deepEqual(await nodesOf(withFilter('/v1/health/node/n2', 'ServiceName == web')), ['n2']);
    const services = await mustGet(api, withFilter('/v1/catalog/services', 'NodeMeta.rack == 1'));
    assert.deepEqual(services, { web: ['v1'] });
    const node = await mustGet<{ Services: object }>(api, withFilter('/v1/catalog/node/n1', 'Service != web'));
    assert.deepEqual(node.Services, {});
    const agent = async (path: string, filter: string) =>
      Object.keys(await mustGet<object>(api, withFilter(path, filter)));
    assert.deepEqual(await agent('/v1/agent/services', 'x in Tags'), ['own']);
    assert.deepEqual(await agent('/v1/agent/checks', 'ServiceName == other'), []);
    assert.deepEqual(await agent('/v1/agent/checks', 'Type == ttl'), ['service:own']);
    const entries = async (filter: string) =>
      (await mustGet<{ Name: string }[]>(api, withFilter('/v1/config/service-intentions', filter))).map(
        ({ Name }) => Name,
      );
    assert.deepEqual(await entries('Sources.Name == db'), ['web']);
    assert.deepEqual(await entries('Sources.Action == deny'), []);
  });

  test('select by the metadata of nodes [SVC-111]', async () => {
    const names = async (query: string) => await nodesOf(`/v1/catalog/nodes?${query}`);
    assert.deepEqual(await names('node-meta=rack:2'), ['n2', 'n3']);
    assert.deepEqual(await names('node-meta=rack:2&node-meta=zone:z'), ['n2', 'n3']);
    assert.deepEqual(await names('node-meta=rack:2&node-meta=zone:y'), []);
    assert.deepEqual(await names('node-meta=rack'), []);
    assert.deepEqual(await nodesOf('/v1/catalog/service/web?node-meta=rack:1'), ['n1']);
    assert.deepEqual(await nodesOf('/v1/health/state/passing?node-meta=rack:2'), ['n3']);
    assert.deepEqual(await mustGet(api, '/v1/catalog/services?node-meta=rack:1'), { web: ['v1'] });
    assert.deepEqual(await healthOf(api, 'web', '?node-meta=rack:1'), ['n1/web passing']);
  });

  test('apply before a failover chooses the peer [SVC-112]', async () => {
    await mustGenerate(api, 'east');
    await importFrom(api, 'east', 'web', [importedInstance('web', 'far')]);
    const select = (filter: string) => healthOf(api, 'web', withFilter('?failover=east', filter));
    assert.deepEqual(await select('Node.Node != n3 and Node.Node != n1'), await healthOf(api, 'web', '?peer=east'));
    assert.deepEqual(await select('Node.Node == n3'), ['n3/web passing']);
  });

  test('are refused with the reason, and before the list is read [V1-94]', async () => {
    const answer = await api.request('GET', withFilter('/v1/catalog/nodes', 'Service.Tags contains v1'));
    const reason = 'Selector "Service.Tags" is not valid';
    assert.deepEqual(statusAndText(answer), [400, `Failed to create boolean expression evaluator: ${reason}`]);
    assert.equal((await api.request('GET', withFilter('/v1/catalog/nodes', 'Meta.rack =='))).status, 400);
  });

  test('wake a blocking query, which returns the selected items', async () => {
    const at = withFilter('/v1/health/service/web', 'Service.Tags contains v9');
    const first = await api.request('GET', at);
    assert.equal(first.text, '[]');
    const index = first.headers['x-service-index'];
    const { answer } = await api.startBlockingQuery(`${at}&index=${index}&wait=30s`);
    await mustRegister(api, { Node: 'z', Service: { Service: 'web', Tags: ['v9'] } });
    assert.equal((await answer).json<unknown[]>().length, 1);
  });
});

describe('the partition of a request', () => {
  test('may be in X-Consul-Partition with compat consul [V1-90]', async () => {
    await using api = await startApi({ consul: true });
    await api.makePartitions('eu');
    await mustRegister(api, { Partition: 'eu', Node: 'n', Service: { Service: 'web' } });
    const answer = await api.request('GET', '/v1/catalog/nodes', { headers: { 'x-consul-partition': 'eu' } });
    assert.equal(answer.json<unknown[]>().length, 1);
  });
});
