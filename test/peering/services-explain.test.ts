/** The endpoints `explain` and `diff` between two clusters, with a failure at each step. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { deregister, exportOnly, register, untilImported } from '../support/peering/cluster-services.ts';
import { type Cluster, isActive, isFailing, peerClusters, startCluster } from '../support/peering/clusters.ts';
import { readDiff, untilDiff, untilStopsAt } from '../support/peering/diagnosis.ts';
import { type FaultProxy, startProxy } from '../support/proxy.ts';

describe('explain and diff', { timeout: 180_000 }, () => {
  let east: Cluster;
  let west: Cluster;
  let proxy: FaultProxy;
  before(async () => {
    // Services of the maximum size keep a busy machine busy for seconds, and no stream may time out.
    const settings = { 'peering.heartbeat-timeout': '20s' };
    [east, west] = await Promise.all([
      startCluster({ settings }),
      startCluster({ settings: { ...settings, 'cluster.datacenter': 'dc2' } }),
    ]);
    proxy = await startProxy(east.peeringPort);
    await peerClusters(east, west, { to: 'west', from: 'east', addresses: [`127.0.0.1:${proxy.port}`] });
  });
  after(async () => {
    await Promise.all([east, west].map((cluster) => cluster?.[Symbol.asyncDispose]()));
    await proxy?.[Symbol.asyncDispose]();
  });

  const fromEast = (service: string, wanted: RegExp): Promise<void> =>
    untilStopsAt(east, 'Outgoing', { service, peer: 'west' }, wanted);
  const atWest = (service: string, wanted: RegExp): Promise<void> =>
    untilStopsAt(west, 'Incoming', { service, peer: 'east' }, wanted);

  it('report a service without an entry, and one that is imported [SVC-94]', async () => {
    await fromEast('web', /^registered failed: no service of this name/);
    await register(east, { service: 'web', port: 80 });
    await fromEast('web', /^exported failed: the partition has no exported-services entry$/);
    await atWest('web', /^listed failed: the peer does not export it/);
    await exportOnly(east, { db: ['west'], '*': ['north'] });
    await fromEast('web', /^exported failed: Services\[1\] \(\*\) decides, and does not name the peer$/);
    await exportOnly(east, { '*': ['west'] });
    await fromEast('web', /^arrives$/);
    await untilImported(west, 'east', ['web']);
    await atWest('web', /^arrives$/);
    await untilDiff(west, 'east', []);
  });

  it('report a disconnected peer [SVC-96]', async () => {
    proxy.sever();
    await Promise.all([east.untilRecord('west', isFailing), west.untilRecord('east', isFailing)]);
    await fromEast('web', /^peering failed: failing since .+Z: ./);
    await atWest('web', /^peering failed: failing since .+Z: ./);
    assert.equal(await readDiff(west, 'east'), undefined);
    await deregister(east, 'web-node');
    await register(east, { service: 'api', port: 81 });
    proxy.heal();
    await Promise.all(
      [east, west].map((cluster, i) => cluster.untilRecord(['west', 'east'][i] ?? '', isActive, 30_000)),
    );
    await fromEast('api', /^arrives$/);
    await atWest('api', /^arrives$/);
    await atWest('web', /^listed failed/);
    await untilDiff(west, 'east', []);
  });

  it('report a service that exceeds the size of a message [STREAM-50]', async () => {
    await registerMany(east, 'large', { instances: 260, pairs: 64, valueBytes: 512 });
    await fromEast('large', /^sent failed: not sent: \d+ bytes exceed the message limit of 8388608 bytes$/);
    await untilDiff(west, 'east', ['large stale']);
    await atWest('large', /^current failed: the peer cannot send its current version: see the diagnosis there$/);
    await deregisterMany(east, 'large', 260);
    await untilDiff(west, 'east', []);
  });

  it('report a service that the peer rejected [STREAM-54]', async () => {
    await registerMany(east, 'many', { instances: 1_040, pairs: 64, valueBytes: 1 });
    await fromEast('many', /^acknowledged failed: rejected by the peer: .*more than 131072 parts/);
    await untilDiff(west, 'east', ['many stale']);
  });
});

interface LargeService {
  readonly instances: number;
  /** The number of `Meta` pairs of each node and each service. */
  readonly pairs: number;
  readonly valueBytes: number;
}

/** Requests in flight. */
const CONCURRENCY = 16;

async function registerMany(
  cluster: Cluster,
  service: string,
  { instances, pairs, valueBytes }: LargeService,
): Promise<void> {
  const Meta = Object.fromEntries(Array.from({ length: pairs }, (_, i) => [`k${i}`, 'v'.repeat(valueBytes)]));
  await timesConcurrently(instances, async (i) => {
    const body = { Node: `${service}-${i}`, Address: '10.0.0.1', NodeMeta: Meta, Service: { Service: service, Meta } };
    assert.equal((await cluster.request('PUT', '/v1/catalog/register', { body })).status, 200);
  });
}

const deregisterMany = (cluster: Cluster, service: string, instances: number): Promise<void> =>
  timesConcurrently(instances, (i) => deregister(cluster, `${service}-${i}`));

async function timesConcurrently(count: number, action: (i: number) => Promise<void>): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < count) {
      next += 1;
      await action(next - 1);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, work));
}
