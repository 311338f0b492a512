import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createFakeClock } from '../../../../test/support/fake-clock.ts';
import {
  type CheckJson,
  type Fields,
  healthOf,
  mustDeregister,
  mustGet,
  mustRegister,
  requestDeregister,
} from '../../../../test/support/peering/catalog-requests.ts';
import { statusAndText } from '../../../../test/support/peering/peering-requests.ts';
import { sharedApi, startApi } from '../../../../test/support/process/api.ts';
import { until } from '../../../../test/support/until.ts';
import { catalogNodes } from '../tables/catalog-node.ts';
import { catalogServices } from '../tables/catalog-service.ts';

describe('deregister', () => {
  const api = sharedApi();

  test('deletes a service with its checks and keeps the node [SVC-26]', async () => {
    await mustRegister(api(), {
      Node: 'a',
      Service: { Service: 'gone' },
      Checks: [{ Name: 'n' }, { Name: 's', ServiceID: 'gone' }],
    });
    await mustRegister(api(), { Node: 'a', Service: { Service: 'stays' } });
    await mustDeregister(api(), { Node: 'A', ServiceID: 'gone' });
    assert.deepEqual(await healthOf(api(), 'gone'), []);
    assert.deepEqual(await healthOf(api(), 'stays'), ['a/stays critical']);
    const checks = await mustGet<CheckJson[]>(api(), '/v1/health/node/a');
    assert.deepEqual(
      checks.map(({ CheckID }) => CheckID),
      ['n'],
    );
  });

  test('deletes only the given check of a node or a service [SVC-26]', async () => {
    await mustRegister(api(), {
      Node: 'b',
      Service: { Service: 'checked' },
      Checks: [{ Name: 'n' }, { Name: 's', ServiceID: 'checked' }, { Name: 't', ServiceID: 'checked' }],
    });
    await mustDeregister(api(), { Node: 'b', CheckID: 's' });
    await mustDeregister(api(), { Node: 'b', CheckID: 'n' });
    const checks = await mustGet<CheckJson[]>(api(), '/v1/health/node/b');
    assert.deepEqual(
      checks.map(({ CheckID }) => CheckID),
      ['t'],
    );
    assert.deepEqual(await healthOf(api(), 'checked'), ['b/checked critical']);
  });

  test('succeeds for missing items and writes nothing [SVC-27]', async () => {
    await mustRegister(api(), { Node: 'c' });
    const { snapshot } = api().state;
    await mustDeregister(api(), { Node: 'nowhere' });
    await mustDeregister(api(), { Node: 'c', ServiceID: 'no' });
    await mustDeregister(api(), { Node: 'c', CheckID: 'no' });
    assert.equal(api().state.snapshot, snapshot);
  });

  const invalidBodies: readonly (readonly [what: string, fields: Fields, text: RegExp])[] = [
    ['a body without a node', {}, /^Must provide node$/],
    ['another datacenter', { Node: 'n1', Datacenter: 'dc9' }, /^No path to datacenter "dc9"/], // [SVC-19]
    // [SVC-21]
    ['an imported node', { Node: 'n1', PeerName: 'east' }, /^cannot change items of peer "east": /],
    ['a namespace', { Node: 'n1', Namespace: 'x' }, /^unknown namespace "x"/], // [SVC-20]
    ['a missing partition', { Node: 'n1', Partition: 'nowhere' }, /^partition "nowhere" does not exist$/],
  ];
  for (const [what, fields, text] of invalidBodies) {
    test(`returns 400 for ${what}`, async () => {
      const answer = await requestDeregister(api(), fields);
      assert.equal(answer.status, 400);
      assert.match(answer.text, text);
    });
  }
});

test('deletes a node with everything on it in one small commit [SVC-26]', async () => {
  // With a stopped clock, the background job that deletes orphaned rows adds no commit.
  await using api = await startApi({ clock: createFakeClock() });
  const names = Array.from({ length: 700 }, (_, i) => `s${i}`);
  await Promise.all(names.map((Service) => mustRegister(api, { Node: 'big', Service: { Service } })));
  await mustRegister(api, { Node: 'small' });
  const { index } = api.state.snapshot;
  await mustDeregister(api, { Node: 'big' });
  assert.equal(api.state.snapshot.index, index + 1);
  assert.deepEqual(await mustGet(api, '/v1/catalog/services'), { web: [] });
  assert.equal(await mustGet(api, '/v1/catalog/node/big'), null);
  // A new node with the same name has nothing of the old one.
  await mustRegister(api, { Node: 'big', Service: { Service: 's1' } });
  assert.deepEqual(await healthOf(api, 's1'), ['big/s1']);
  assert.deepEqual(await healthOf(api, 's2'), []);
  await until('the rows of the old node are deleted', () => api.state.snapshot.count(catalogServices) === 2);
  assert.deepEqual(await healthOf(api, 's1'), ['big/s1']);
});

test('a caller with a grant limited to names can deregister only those services [SVC-5] [SVC-28]', async () => {
  await using api = await startApi();
  await mustRegister(api, { Checks: [{ Name: 'n' }, { Name: 's', ServiceID: 'web' }] });
  await mustRegister(api, { Service: { Service: 'db' }, Checks: [{ Name: 'd', ServiceID: 'db' }] });
  const { SecretID: token, AccessorID } = await api.makeToken(['services:write@default=web']);
  const lacks = `Permission denied: token with AccessorID '${AccessorID}' lacks permission 'services:write'`;
  for (const fields of [
    { Node: 'n1' },
    { Node: 'nowhere' },
    { Node: 'n1', ServiceID: 'db' },
    { Node: 'n1', CheckID: 'd' },
    { Node: 'n1', CheckID: 'n' },
    // Callers that may not delete either cannot distinguish "missing" from "forbidden".
    { Node: 'n1', ServiceID: 'nothing' },
    { Node: 'n1', CheckID: 'nothing' },
    { Node: 'nowhere', ServiceID: 'db' },
    { Node: 'nowhere', CheckID: 'd' },
  ]) {
    assert.deepEqual(
      statusAndText(await requestDeregister(api, fields, { token })),
      [403, lacks],
      JSON.stringify(fields),
    );
  }
  for (const fields of [
    { Node: 'n1', CheckID: 's' },
    { Node: 'n1', ServiceID: 'web' },
  ]) {
    assert.deepEqual(
      statusAndText(await requestDeregister(api, fields, { token })),
      [200, 'true'],
      JSON.stringify(fields),
    );
  }
  assert.deepEqual(await mustGet(api, '/v1/catalog/services'), { db: [] });
});

test('deletes a check of all services of a large node [SVC-26]', async () => {
  await using api = await startApi();
  await mustRegister(api, { Node: 'large', Check: { Name: 'n' } });
  const [node] = api.state.snapshot.all(catalogNodes);
  const check = { id: 'c', name: 'c', status: 'passing', notes: '', output: '', type: '' } as const;
  await mustRegister(api, { Node: 'large', Service: { Service: 'web' } });
  const [first] = api.state.snapshot.all(catalogServices);
  assert.ok(node !== undefined && first !== undefined);
  await api.state.write((tx) => {
    for (let i = 0; i < 1_100; i++) {
      tx.put(catalogServices, { ...first.row, service: { ...first.row.service, id: `web-${i}` }, checks: [check] });
    }
  });
  await mustDeregister(api, { Node: 'large', CheckID: 'c' });
  const rows = api.state.snapshot.list(catalogServices, 'node', node.row.uid);
  assert.equal(rows.length, 1_101);
  assert.ok(rows.every(({ row }) => row.checks.length === 0));
});
