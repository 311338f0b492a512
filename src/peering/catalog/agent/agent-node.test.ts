import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import {
  type Fields,
  healthOf,
  mustGet,
  mustRegister,
  mustRegisterWithAgent,
} from '../../../../test/support/peering/catalog-requests.ts';
import { statusAndText } from '../../../../test/support/peering/peering-requests.ts';
import { type Api, sharedApi, startApi } from '../../../../test/support/process/api.ts';
import { catalogNodes } from '../tables/catalog-node.ts';
import { moveAgentNodes } from './move-agent-nodes.ts';

const addresses = (api: Api): readonly string[] =>
  api.state.snapshot
    .all(catalogNodes)
    .map(({ row }) => `${row.partition}/${row.name} ${row.address}`)
    .toSorted();

describe('the local agent of a server that listens on a wildcard address', () => {
  const api = sharedApi({ agent: { address: '10.7.0.1', isServiceAddress: false } });
  const put = (body: Fields) => api().request('PUT', '/v1/agent/service/register', { body });

  test('returns 400 for a service without an address and writes nothing [SVC-45]', async () => {
    const { snapshot } = api().state;
    for (const body of [{ Name: 'web' }, { Name: 'web', Address: '' }]) {
      assert.deepEqual(statusAndText(await put(body)), [
        400,
        'Invalid service address "": this server listens on every address of its machine (http.address), so it cannot tell where its services are reached; give the Address of the service',
      ]);
    }
    assert.equal(api().state.snapshot, snapshot);
  });

  test('registers a service with an address on a node with an address of the machine', async () => {
    await mustRegisterWithAgent(api(), { Name: 'placed', Address: '10.7.0.2' });
    const [entry] = await mustGet<{ Node: Fields; Service: Fields }[]>(api(), '/v1/health/service/placed');
    assert.deepEqual([entry?.Node['Address'], entry?.Service['Address']], ['10.7.0.1', '10.7.0.2']);
  });

  test('returns 403 before that 400 to a caller without the grant', async () => {
    const answer = await api().request('PUT', '/v1/agent/service/register', { body: { Name: 'web' }, token: null });
    assert.equal(answer.status, 403);
  });
});

test('a caller with a grant limited to names cannot take over a node or change its address [SVC-46]', async () => {
  await using api = await startApi({ node: 'server-1' });
  await mustRegister(api, { Node: 'Server-1', Address: '10.5.5.9', Service: { Service: 'pay' } });
  const { SecretID: token } = await api.makeToken(['services:write@default=web']);
  const web = { body: { Name: 'web' }, token };
  const { snapshot } = api.state;
  assert.equal((await api.request('PUT', '/v1/agent/service/register', web)).status, 403);
  assert.equal(api.state.snapshot, snapshot);
  // A grant without names permits the takeover, and a change of the address in the catalog.
  await mustRegisterWithAgent(api, { Name: 'db' });
  assert.deepEqual(addresses(api), ['default/Server-1 127.0.0.1']);
  await mustRegister(api, { Node: 'server-1', Address: '10.5.5.9', Service: undefined });
  assert.equal((await api.request('PUT', '/v1/agent/service/register', web)).status, 200);
  assert.deepEqual(addresses(api), ['default/Server-1 10.5.5.9']);
  await mustRegisterWithAgent(api, { Name: 'db' });
  assert.deepEqual(addresses(api), ['default/Server-1 127.0.0.1']);
});

test('a server that starts at another address updates only its own nodes [SVC-46]', async () => {
  await using api = await startApi({ node: 'server-1' });
  await api.makePartitions('eu');
  await mustRegister(api, { Node: 'server-2', Address: '127.0.0.1' });
  await mustRegisterWithAgent(api, { Name: 'db' });
  await mustRegisterWithAgent(api, { Name: 'db', Partition: 'eu' });
  await moveAgentNodes(api.state, { name: 'server-1', address: '10.8.0.1', isServiceAddress: true });
  assert.deepEqual(addresses(api), ['default/server-1 10.8.0.1', 'default/server-2 127.0.0.1', 'eu/server-1 10.8.0.1']);
  assert.deepEqual(await healthOf(api, 'db'), ['server-1/db passing']);
  const { snapshot } = api.state;
  await moveAgentNodes(api.state, { name: 'server-1', address: '10.8.0.1', isServiceAddress: true });
  assert.equal(api.state.snapshot, snapshot);
});
