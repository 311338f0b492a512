/** Cuts every stream between two peered clusters after random bytes, for one minute for each seed. */
import { describe, it } from 'node:test';
import { peerClusters, startCluster } from '../support/peering/clusters.ts';
import { runCutStorm } from '../support/peering/cut-storm.ts';
import { startProxy } from '../support/proxy.ts';
import { createRandom } from '../support/random.ts';

const FIRST_SEED = Number(process.env['SEED'] ?? '1');
const SEEDS = 5;
const STORM_MS = 60_000;

describe('a peering whose streams are cut after random bytes', () => {
  for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed += 1) {
    it(`keeps records and resources correct, SEED=${seed}`, async (context) => {
      const settings = { 'limits.stream-handshake': '1s' };
      await using accepting = await startCluster({ settings });
      await using dialing = await startCluster({ settings });
      await using proxy = await startProxy(accepting.peeringPort);
      await peerClusters(accepting, dialing, {
        to: 'west',
        from: 'east',
        addresses: [`127.0.0.1:${proxy.port}`],
      });
      const counts = await runCutStorm({ ms: STORM_MS, random: createRandom(seed), accepting, dialing, proxy });
      context.diagnostic(JSON.stringify(counts));
    });
  }
});
