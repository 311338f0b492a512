/** A peering from its token to its removal, between two whole clusters. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Cluster, isActive, isTerminated, peerClusters, startCluster } from '../support/peering/clusters.ts';

describe('a peering between two clusters', { timeout: 120_000 }, () => {
  let east: Cluster;
  let west: Cluster;
  before(async () => {
    // No stream ends here but by what a test does: one that a busy machine lets time out would write its record.
    const settings = { 'peering.heartbeat-timeout': '20s' };
    [east, west] = await Promise.all([
      startCluster({ settings }),
      startCluster({ settings: { ...settings, 'cluster.datacenter': 'dc2' } }),
    ]);
  });
  after(() => Promise.all([east, west].map((cluster) => cluster?.[Symbol.asyncDispose]())));

  it('becomes ACTIVE on both sides, which know each other then', async () => {
    await peerClusters(east, west, { to: 'west', from: 'east' });
    const accepted = await east.record('west');
    const dialed = await west.record('east');
    assert.deepEqual(Object(accepted).Remote, { Partition: 'default', Datacenter: 'dc2' });
    assert.deepEqual(Object(dialed).Remote, { Partition: 'default', Datacenter: 'dc1' });
    assert.equal(dialed?.PeerID, accepted?.ID);
    assert.deepEqual(dialed?.PeerServerAddresses, [east.peeringAddress]);
  });

  it('hears heartbeats, whose times are shown without a commit', async () => {
    const before = await west.record('east');
    const heard = await west.untilRecord('east', (record) => record?.StreamStatus.LastHeartbeat !== undefined);
    await west.untilRecord('east', (now) => now?.StreamStatus.LastHeartbeat !== heard.StreamStatus.LastHeartbeat);
    assert.equal((await west.record('east'))?.ModifyIndex, before?.ModifyIndex);
  });

  it('comes back by itself when either side is started again', async () => {
    for (const cluster of [east, west]) {
      await cluster.kill();
      await cluster.start();
      await Promise.all([east.untilRecord('west', isActive), west.untilRecord('east', isActive)]);
    }
  });

  it('ends with TERMINATED on both sides, and its name is free again', async () => {
    const waiting = west.request('GET', `/v1/peering/east?index=${(await west.record('east'))?.ModifyIndex}&wait=30s`);
    assert.equal((await east.request('DELETE', '/v1/peering/west')).status, 200);
    const deleted = await east.record('west');
    assert.equal(deleted?.State, 'TERMINATED');
    assert.ok(deleted?.DeletedAt);
    assert.equal((await waiting).json<{ State: string }>().State, 'TERMINATED', 'who waits is told');
    assert.equal((await west.untilRecord('east', isTerminated)).DeletedAt, undefined);
    await east.untilRecord('west', (record) => record === undefined);
    await peerClusters(east, west, { to: 'west', from: 'east' });
  });
});
