/** `kill -9` of a server under concurrent writes, two hundred times: ten stores on each engine, ten times each. */
import { describe, test } from 'node:test';
import { startEtcd } from '../support/process/etcd.ts';
import { runKillStorm } from '../support/process/kill-storm.ts';

const STORES = 10;
const ROUNDS = 10;

describe('a server that is killed again and again', () => {
  for (let seed = 1; seed <= STORES; seed += 1) {
    test(`on SQLite, seed ${seed}: loses nothing that it acknowledged`, async (context) => {
      const counts = await runKillStorm({ rounds: ROUNDS, seed, settings: () => ({}) });
      context.diagnostic(JSON.stringify(counts));
    });

    test(`on etcd, seed ${seed}: loses nothing that it acknowledged`, async (context) => {
      await using etcd = await startEtcd();
      const counts = await runKillStorm({
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
