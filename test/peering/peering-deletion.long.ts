/** A peering that is deleted while the other side is away for long. */
import { describe, it } from 'node:test';
import { peerClusters, startCluster } from '../support/peering/clusters.ts';
import { deleteWhileAway } from '../support/peering/deleted-away.ts';

/** The record of who deleted it is gone by then; then, too, the pauses between attempts to tell are as long as they get. */
const AWAY_MS = [12_000, 150_000] as const;

describe('a peering that is deleted while the other side is away', () => {
  for (const awayMs of AWAY_MS) {
    for (const deleter of ['accepting', 'dialing'] as const) {
      it(`for ${awayMs / 1_000} s, on the ${deleter} side, is TERMINATED there when it is back`, async () => {
        await using accepting = await startCluster();
        await using dialing = await startCluster({ settings: { 'cluster.datacenter': 'dc2' } });
        await peerClusters(accepting, dialing, { to: 'west', from: 'east' });
        await deleteWhileAway({ accepting, dialing, deleter, awayMs });
      });
    }
  }
});
