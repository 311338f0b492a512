/** `kill -9` of a server during concurrent writes: ten stores of each engine, with ten kills each. */
import { describe, test } from 'node:test';
import { startEtcd } from '../support/process/etcd.ts';
import { killUnderLoad } from '../support/process/kill-under-load.ts';

const STORES = 10;
const ROUNDS = 10;

describe('a server that is killed repeatedly', () => {
  for (let seed = 1; seed <= STORES; seed += 1) {
    test(`on SQLite keeps acknowledged writes with seed ${seed}`, async (context) => {
      const counts = await killUnderLoad({ rounds: ROUNDS, seed, settings: () => ({}) });
      context.diagnostic(JSON.stringify(counts));
    });

    test(`on etcd keeps acknowledged writes with seed ${seed}`, async (context) => {
      await using etcd = await startEtcd();
      const counts = await killUnderLoad({
        rounds: ROUNDS,
        seed,
        settings: (round) => ({
          store: 'etcd',
          'etcd.endpoints': etcd.urls.join(','),
          'node.name': `n${round % 2}`,
          'node.lease': '2s',
        }),
      });
      context.diagnostic(JSON.stringify(counts));
    });
  }
});
