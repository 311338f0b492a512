/** Rotates the certificate authority of a cluster and back, and checks the order in which its peer learns of it. */
import assert from 'node:assert/strict';
import { announcedRoots, trustedRoots } from '../state/stored-rows.ts';
import { until } from '../until.ts';
import type { Cluster } from './clusters.ts';

export interface RotationTracker {
  /** Starts a rotation, or reverts the one in progress. Both change the announced CA roots. */
  toggle(): Promise<void>;
  /** Records the CA roots that the peer trusts now. */
  observe(): Promise<void>;
  /** Waits until the peer trusts the last announced CA roots. @throws AssertionError after a wrong order */
  verify(): Promise<void>;
}

/** Tracks how `peer` follows the CA roots of `cluster`. Neither can have another peering. */
export async function trackRotations(cluster: Cluster, peer: Cluster): Promise<RotationTracker> {
  /** The announced CA roots in order, each list joined to one text. */
  const announced = [(await announcedRoots(cluster)).join()];
  const trusted: string[] = [];
  const observe = async (): Promise<void> => {
    const roots = (await trustedRoots(peer)).join();
    if (roots !== trusted.at(-1)) trusted.push(roots);
  };
  return {
    observe,
    async toggle() {
      const { Stage } = (await cluster.request('GET', '/v1/operator/ca')).json<{ Stage: string }>();
      const rotated = await cluster.request(Stage === 'STABLE' ? 'PUT' : 'DELETE', '/v1/operator/ca/rotate');
      assert.equal(rotated.status, 200, rotated.text);
      announced.push((await announcedRoots(cluster)).join());
    },
    async verify() {
      await until('the peer trusts the last announced CA roots', async () => {
        await observe();
        return trusted.at(-1) === announced.at(-1);
      });
      let from = 0;
      for (const roots of trusted) {
        const at = announced.indexOf(roots, from);
        assert.ok(at !== -1, `the peer trusted ${roots} after newer CA roots`);
        from = at;
      }
    },
  };
}
