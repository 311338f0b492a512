/** Deletion of a peering while the other cluster is down for a long time. */
import { describe, it } from 'node:test';
import { peerClusters, startCluster } from '../support/peering/clusters.ts';
import { deleteWhilePeerDown } from '../support/peering/delete-while-peer-down.ts';

/** After 12 seconds the deleted record is removed. After 150 seconds the pauses between dials have their maximum. */
const DOWN_MS = [12_000, 150_000] as const;

describe('deleting a peering', () => {
  for (const downMs of DOWN_MS) {
    for (const deletingSide of ['accepting', 'dialing'] as const) {
      it(`on the ${deletingSide} side reaches a peer that was down for ${downMs / 1_000} s [PEER-71]`, async () => {
        await using accepting = await startCluster();
        await using dialing = await startCluster({ settings: { 'cluster.datacenter': 'dc2' } });
        await peerClusters(accepting, dialing, { to: 'west', from: 'east' });
        await deleteWhilePeerDown({ accepting, dialing, deletingSide, downMs });
      });
    }
  }
});
