import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  mustDeregister,
  mustRegister,
  mustRegisterWithAgent,
} from '../../../../test/support/peering/catalog-requests.ts';
import { type Api, startApi } from '../../../../test/support/process/api.ts';
import { runAtOnce } from '../../../state/clock/slices.ts';
import { localInstances, localServiceNames, servicesChangedBy } from './local-instances.ts';

test('localInstances returns the same objects until something in them changes [SVC-30]', async () => {
  await using api = await startApi();
  const instances = (service = 'web') => runAtOnce(localInstances(api.state.snapshot, 'default', service));
  await mustRegister(api, { Node: 'b', Check: { Name: 'c', Status: 'passing', ServiceID: 'web' } });
  await mustRegister(api, { Node: 'a', Service: { Service: 'Web' }, Check: { Name: 'n', Status: 'warning' } });
  const [onA, onB] = instances('WEB');
  assert.deepEqual([onA?.node.name, onB?.node.name], ['a', 'b']);
  assert.deepEqual(
    onA?.checks.map(({ id, serviceId }) => [id, serviceId]),
    [['n', '']],
  );
  assert.deepEqual(
    onB?.checks.map(({ id, serviceId, serviceName }) => [id, serviceId, serviceName]),
    [['c', 'web', 'web']],
  );
  assert.equal(onB?.node.datacenter, 'dc1');
  await mustRegister(api, { Node: 'b', Service: { Service: 'db' } });
  await mustRegister(api, { Node: 'a', Address: '10.0.0.9', Service: undefined });
  const [movedA, sameB] = instances();
  assert.equal(sameB, onB);
  assert.notEqual(movedA, onA);
  assert.equal(movedA?.node.address, '10.0.0.9');
  assert.deepEqual(instances('nothing'), []);
});

test('localServiceNames returns the sorted names of the partition', async () => {
  await using api = await startApi();
  await api.makePartitions('eu');
  for (const Service of ['web', 'Db', 'api']) await mustRegister(api, { Service: { Service } });
  await mustRegister(api, { Node: 'n2', Service: { Service: 'WEB' } });
  await mustRegister(api, { Partition: 'eu', Service: { Service: 'there' } });
  const names = runAtOnce(localServiceNames(api.state.snapshot, 'Default'));
  assert.deepEqual(
    names.map((name) => name.toLowerCase()),
    ['api', 'db', 'web'],
  );
  assert.deepEqual(runAtOnce(localServiceNames(api.state.snapshot, 'eu')), ['there']);
});

/** Returns the services that the commits of `change` affect. */
async function touched(api: Api, change: () => Promise<void>): Promise<string[]> {
  const stopping = new AbortController();
  const changes = api.state.changes(stopping.signal);
  const entries = new Set<string>();
  const following = (async () => {
    for await (const one of changes) for (const entry of servicesChangedBy(api.state.snapshot, one)) entries.add(entry);
  })();
  await change();
  await api.state.write(() => undefined);
  stopping.abort();
  await following;
  return [...entries].toSorted();
}

test('servicesChangedBy returns the services that a commit may have changed', async () => {
  await using api = await startApi();
  await mustRegister(api, { Service: { Service: 'web' } });
  await mustRegister(api, { Service: { Service: 'Db' } });
  await mustRegister(api, { Node: 'n2', Service: { Service: 'api' } });
  const both = ['default/db', 'default/web'];
  assert.deepEqual(await touched(api, () => mustRegister(api, { Service: { Service: 'web', Port: 9 } })), [
    'default/web',
  ]);
  assert.deepEqual(await touched(api, () => mustRegister(api, { Service: { ID: 'web', Service: 'x' } })), [
    'default/web',
    'default/x',
  ]);
  await mustRegister(api, { Service: { Service: 'web' } });
  assert.deepEqual(await touched(api, () => mustRegister(api, { Address: '10.0.0.9', Service: undefined })), both);
  assert.deepEqual(await touched(api, () => mustRegister(api, { Address: '10.0.0.9', Check: { Name: 'n' } })), both);
  assert.deepEqual(await touched(api, () => mustDeregister(api, { Node: 'n2', ServiceID: 'api' })), ['default/api']);
  assert.deepEqual(await touched(api, () => mustDeregister(api, { Node: 'n1' })), both);
  await mustRegisterWithAgent(api, { Name: 'a', Check: { TTL: '1h', Status: 'passing' } });
  const renew = async (): Promise<void> => {
    await api.request('PUT', '/v1/agent/check/pass/service:a');
  };
  assert.deepEqual(await touched(api, renew), []);
});
