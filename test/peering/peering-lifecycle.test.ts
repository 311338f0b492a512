/** The lifecycle of a peering between two clusters, from the token to the removal. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type Cluster, isActive, isTerminated, peerClusters, startCluster } from '../support/peering/clusters.ts';

describe('a peering between two clusters', { timeout: 120_000 }, () => {
  let east: Cluster;
  let west: Cluster;
  before(async () => {
    // A stream that times out on a busy machine would change the record.
    const settings = { 'peering.heartbeat-timeout': '20s' };
    [east, west] = await Promise.all([
      startCluster({ settings }),
      startCluster({ settings: { ...settings, 'cluster.datacenter': 'dc2' } }),
    ]);
  });
  after(() => Promise.all([east, west].map((cluster) => cluster?.[Symbol.asyncDispose]())));

  it('becomes ACTIVE on both sides, and each record describes the other side [PEER-1] [PEER-14]', async () => {
    await peerClusters(east, west, { to: 'west', from: 'east' });
    const accepted = await east.record('west');
    const dialed = await west.record('east');
    assert.deepEqual(Object(accepted).Remote, { Partition: 'default', Datacenter: 'dc2' });
    assert.deepEqual(Object(dialed).Remote, { Partition: 'default', Datacenter: 'dc1' });
    assert.equal(dialed?.PeerID, accepted?.ID);
    assert.deepEqual(dialed?.PeerServerAddresses, [east.peeringAddress]);
  });

  it('updates LastHeartbeat without a commit [PEER-17]', async () => {
    const before = await west.record('east');
    const first = await west.untilRecord('east', (record) => record?.StreamStatus.LastHeartbeat !== undefined);
    await west.untilRecord('east', (now) => now?.StreamStatus.LastHeartbeat !== first.StreamStatus.LastHeartbeat);
    assert.equal((await west.record('east'))?.ModifyIndex, before?.ModifyIndex);
  });

  it('becomes ACTIVE again after either side has restarted [PEER-29]', async () => {
    for (const cluster of [east, west]) {
      const [accepted, dialed] = await Promise.all([east.record('west'), west.record('east')]);
      await cluster.kill();
      await cluster.start();
      // A restarted server may first return the record of the stream that the kill ended.
      await Promise.all([
        east.untilRecord('west', (now) => isActive(now) && now?.ModifyIndex !== accepted?.ModifyIndex),
        west.untilRecord('east', (now) => isActive(now) && now?.ModifyIndex !== dialed?.ModifyIndex),
      ]);
    }
  });

  it('becomes TERMINATED on both sides when deleted, and releases its name [PEER-68] [PEER-69]', async () => {
    const blockingQuery = west.request(
      'GET',
      `/v1/peering/east?index=${(await west.record('east'))?.ModifyIndex}&wait=30s`,
    );
    assert.equal((await east.request('DELETE', '/v1/peering/west')).status, 200);
    const deleted = await east.record('west');
    assert.equal(deleted?.State, 'TERMINATED');
    assert.ok(deleted?.DeletedAt);
    assert.equal((await blockingQuery).json<{ State: string }>().State, 'TERMINATED', 'a blocking query is woken');
    assert.equal((await west.untilRecord('east', isTerminated)).DeletedAt, undefined);
    await east.untilRecord('west', (record) => record === undefined);
    await peerClusters(east, west, { to: 'west', from: 'east' });
  });
});
