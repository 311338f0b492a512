/** Rotates a cluster's certificate authority there and back, and checks in which order its peer has heard of it. */
import assert from 'node:assert/strict';
import { announcedRoots, trustedRoots } from '../state/stored-rows.ts';
import { until } from '../until.ts';
import type { Cluster } from './clusters.ts';

export interface Rotations {
  /** Begins a rotation, or takes the one that is under way back. Every time the peer has to hear of other roots. */
  turn(): Promise<void>;
  /** Looks at what the peer trusts now. */
  look(): Promise<void>;
  /** Waits until the peer trusts what it was told last. @throws AssertionError when it ever trusted something older after something newer */
  end(): Promise<void>;
}

/** `cluster` tells, `peer` hears; neither has another peering. */
export async function rotationsOf(cluster: Cluster, peer: Cluster): Promise<Rotations> {
  /** The roots that were announced, one after another, each as one text. */
  const announced = [(await announcedRoots(cluster)).join()];
  const trusted: string[] = [];
  const look = async (): Promise<void> => {
    const roots = (await trustedRoots(peer)).join();
    if (roots !== trusted.at(-1)) trusted.push(roots);
  };
  return {
    look,
    async turn() {
      const { Stage } = (await cluster.request('GET', '/v1/operator/ca')).json<{ Stage: string }>();
      const turned = await cluster.request(Stage === 'STABLE' ? 'PUT' : 'DELETE', '/v1/operator/ca/rotate');
      assert.equal(turned.status, 200, turned.text);
      announced.push((await announcedRoots(cluster)).join());
    },
    async end() {
      await until('the peer trusts what it was told last', async () => {
        await look();
        return trusted.at(-1) === announced.at(-1);
      });
      let from = 0;
      for (const roots of trusted) {
        const at = announced.indexOf(roots, from);
        assert.ok(at !== -1, `the peer trusted ${roots} after what was announced later`);
        from = at;
      }
    },
  };
}
