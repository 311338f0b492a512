/** Exported and imported services between clusters that run as processes. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import {
  deregister,
  exportOnly,
  importedFrom,
  instances,
  register,
  untilImported,
  untilInstances,
} from '../support/peering/cluster-services.ts';
import {
  type Cluster,
  isActive,
  isFailing,
  isTerminated,
  peerClusters,
  startCluster,
} from '../support/peering/clusters.ts';
import { runResyncStorm } from '../support/peering/resync-storm.ts';
import { type FaultProxy, startProxy } from '../support/proxy.ts';

describe('services exported to a peer', { timeout: 120_000 }, () => {
  let east: Cluster;
  let west: Cluster;
  let proxy: FaultProxy;
  before(async () => {
    [east, west] = await Promise.all([startCluster(), startCluster({ settings: { 'cluster.datacenter': 'dc2' } })]);
    proxy = await startProxy(east.peeringPort);
    await peerClusters(east, west, { to: 'west', from: 'east', addresses: [`127.0.0.1:${proxy.port}`] });
  });
  after(async () => {
    await Promise.all([east, west].map((cluster) => cluster?.[Symbol.asyncDispose]()));
    await proxy?.[Symbol.asyncDispose]();
  });

  it('appear when they are registered, follow their checks, and disappear when they are deregistered', async () => {
    for (const [from, to, peer, at] of [
      [east, west, 'east', 'west'],
      [west, east, 'west', 'east'],
    ] as const) {
      await exportOnly(from, { web: [at] });
      await register(from, { service: 'web', node: 'n1', port: 80, status: 'passing' });
      await untilInstances(to, { service: 'web', peer }, ['n1/web:80 passing']);
      await register(from, { service: 'web', node: 'n2', id: 'web-2', port: 81, status: 'critical' });
      await untilInstances(to, { service: 'web', peer }, ['n1/web:80 passing', 'n2/web-2:81 critical']);
      await register(from, { service: 'web', node: 'n1', port: 80, status: 'warning' });
      await untilInstances(to, { service: 'web', peer }, ['n1/web:80 warning', 'n2/web-2:81 critical']);
      await deregister(from, 'n1', 'web');
      await untilInstances(to, { service: 'web', peer }, ['n2/web-2:81 critical']);
      await deregister(from, 'n2');
      await untilImported(to, peer, []);
    }
  });

  it('are listed in the records of both sides [PEER-18]', async () => {
    await exportOnly(east, { '*': ['west'] });
    await register(east, { service: 'b' });
    await register(east, { service: 'a' });
    await untilImported(west, 'east', ['a', 'b']);
    await west.untilRecord('east', (record) => record?.StreamStatus.ImportedServices?.join() === 'a,b');
    await east.untilRecord('west', (record) => record?.StreamStatus.ExportedServices?.join() === 'a,b');
    await deregister(east, 'a-node');
    await deregister(east, 'b-node');
    await untilImported(west, 'east', []);
    await west.untilRecord('east', (record) => record?.StreamStatus.ImportedServices === null);
  });

  it('disappear when they are no longer exported, and return when they are exported again', async () => {
    await register(east, { service: 'web', node: 'n1', port: 80 });
    await register(east, { service: 'db', node: 'n1', port: 81 });
    await exportOnly(east, { web: ['west'], db: ['west'] });
    await untilImported(west, 'east', ['db', 'web']);
    await exportOnly(east, { db: ['west'] });
    await untilImported(west, 'east', ['db']);
    assert.deepEqual(await instances(west, 'web', 'east'), []);
    await exportOnly(east, { web: ['west'] });
    await untilImported(west, 'east', ['web']);
    await deregister(east, 'n1');
    await untilImported(west, 'east', []);
  });

  it('disappear with their node [SVC-26]', async () => {
    await exportOnly(east, { '*': ['west'] });
    for (let i = 0; i < 20; i++) await register(east, { service: `s${String(i).padStart(2, '0')}`, node: 'n1' });
    await register(east, { service: 's05', node: 'n2' });
    await untilInstances(west, { service: 's05', peer: 'east' }, ['n1/s05:0', 'n2/s05:0']);
    await deregister(east, 'n1');
    await untilImported(west, 'east', ['s05']);
    await untilInstances(west, { service: 's05', peer: 'east' }, ['n2/s05:0']);
    await deregister(east, 'n2');
    await untilImported(west, 'east', []);
  });

  for (const fault of ['sever', 'silence'] as const) {
    it(`stay during an outage (${fault}), and are current after it [STREAM-57]`, async () => {
      await exportOnly(east, { '*': ['west'] });
      for (const service of ['kept', 'changed', 'gone']) await register(east, { service, port: 1 });
      await untilImported(west, 'east', ['changed', 'gone', 'kept']);
      proxy[fault]();
      await west.untilRecord('east', isFailing);
      await register(east, { service: 'changed', port: 2 });
      await register(east, { service: 'new', port: 2 });
      await deregister(east, 'gone-node');
      for (let i = 0; i < 20; i++) {
        assert.deepEqual(await importedFrom(west, 'east'), { changed: 1, gone: 1, kept: 1 });
        assert.deepEqual(await instances(west, 'changed', 'east'), ['changed-node/changed:1']);
        await delay(20);
      }
      proxy.heal();
      await west.untilRecord('east', isActive, 30_000);
      await untilImported(west, 'east', ['changed', 'kept', 'new']);
      await untilInstances(west, { service: 'changed', peer: 'east' }, ['changed-node/changed:2']);
      for (const service of ['kept', 'changed', 'new']) await deregister(east, `${service}-node`);
      await untilImported(west, 'east', []);
    });
  }

  it('stay while the exporting cluster is dead, and are current after it restarts [PEER-31]', async () => {
    await exportOnly(east, { '*': ['west'] });
    await register(east, { service: 'web', port: 80 });
    await untilImported(west, 'east', ['web']);
    await east.kill();
    await west.untilRecord('east', isFailing);
    assert.deepEqual(await importedFrom(west, 'east'), { web: 1 });
    await east.start();
    await register(east, { service: 'db', port: 81 });
    await west.untilRecord('east', isActive, 30_000);
    await untilImported(west, 'east', ['db', 'web']);
  });

  it('disappear when the exporting cluster deletes the peering [PEER-69]', async () => {
    assert.deepEqual(Object.keys(await importedFrom(west, 'east')), ['db', 'web']);
    assert.equal((await east.request('DELETE', '/v1/peering/west')).status, 200);
    await west.untilRecord('east', isTerminated);
    await untilImported(west, 'east', []);
    assert.deepEqual(await instances(west, 'web', 'east'), []);
  });
});

describe('services between three clusters', { timeout: 120_000 }, () => {
  let clusters: readonly [hub: Cluster, left: Cluster, right: Cluster];
  before(async () => {
    const [hub, left, right] = await Promise.all([startCluster(), startCluster(), startCluster()]);
    clusters = [hub, left, right];
    await peerClusters(hub, left, { to: 'left', from: 'hub' });
    await peerClusters(right, hub, { to: 'hub', from: 'right' });
  });
  after(() => Promise.all((clusters ?? []).map((cluster) => cluster[Symbol.asyncDispose]())));

  it('are different services when two peers and this cluster use one name [SVC-79]', async () => {
    const [hub, left, right] = clusters;
    await register(hub, { service: 'web', node: 'here', port: 1 });
    await register(left, { service: 'web', node: 'there', port: 2 });
    await register(right, { service: 'web', node: 'there', port: 3 });
    for (const cluster of [left, right]) await exportOnly(cluster, { web: ['hub'] });
    await untilInstances(hub, { service: 'web', peer: 'left' }, ['there/web:2']);
    await untilInstances(hub, { service: 'web', peer: 'right' }, ['there/web:3']);
    await deregister(left, 'there');
    await untilInstances(hub, { service: 'web', peer: 'left' }, []);
    assert.deepEqual(await instances(hub, 'web', 'right'), ['there/web:3']);
    assert.deepEqual(await instances(hub, 'web'), ['here/web:1']);
    await deregister(hub, 'here');
    assert.deepEqual(await instances(hub, 'web', 'right'), ['there/web:3']);
    await deregister(right, 'there');
    await untilImported(hub, 'right', []);
  });

  it('are visible only to the peers that they are exported to, and are not exported further [SVC-75]', async () => {
    const [hub, left, right] = clusters;
    await register(hub, { service: 'for-left', port: 1 });
    await register(hub, { service: 'for-right', port: 2 });
    await register(hub, { service: 'for-both', port: 3 });
    await register(hub, { service: 'for-nobody', port: 4 });
    await exportOnly(left, { '*': ['hub'] });
    await register(left, { service: 'of-left', port: 5 });
    await untilImported(hub, 'left', ['of-left']);
    await exportOnly(hub, {
      'for-left': ['left'],
      'for-right': ['right'],
      'for-both': ['left', 'right'],
      'of-left': ['right'],
    });
    await untilImported(left, 'hub', ['for-both', 'for-left']);
    await untilImported(right, 'hub', ['for-both', 'for-right']);
    await exportOnly(hub, { '*': ['right'], 'for-left': ['left'] });
    await untilImported(right, 'hub', ['for-both', 'for-nobody', 'for-right']);
    await untilImported(left, 'hub', ['for-left']);
    for (const [cluster, other] of [
      [left, 'for-right'],
      [right, 'for-left'],
    ] as const) {
      assert.deepEqual(await instances(cluster, other, 'hub'), []);
    }
  });
});

it('resynchronizes services that change during outages without losing any', {
  timeout: 180_000,
}, async () => {
  const outcome = await runResyncStorm({ services: 300, changesPerSecond: 50, outages: 2 });
  assert.deepEqual([outcome.lost, outcome.differing], [[], []]);
  assert.ok(outcome.changes > 50);
});
