/** `kill -9` of a server under concurrent writes. `kill.long.ts` does it two hundred times. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ShownAuditEntry } from '../../src/audit/read-audit.ts';
import { startEtcd } from '../support/process/etcd.ts';
import { runKillStorm } from '../support/process/kill-storm.ts';
import { startServer } from '../support/process/server.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { skipWithout } from '../support/tools.ts';

const ROUNDS = 10;
const SEED = 20_261_121;

describe('a server that is killed again and again', { timeout: 180_000, concurrency: 2 }, () => {
  test('on SQLite: has every acknowledged write and no half of any, and its indexes never fall', async (context) => {
    const counts = await runKillStorm({ rounds: ROUNDS, seed: SEED, settings: () => ({}) });
    context.diagnostic(`seed ${SEED}: ${JSON.stringify(counts)}`);
  });

  test('on etcd: likewise', { skip: skipWithout('etcd') }, async (context) => {
    await using etcd = await startEtcd();
    const counts = await runKillStorm({
      rounds: ROUNDS,
      seed: SEED,
      // Two names in turn: the lease of the one before has run out when its name comes again.
      settings: (round) => ({
        store: 'etcd',
        'etcd.endpoints': etcd.urls.join(','),
        'node.name': `n${round % 2}`,
        'node.lease': '2s',
      }),
    });
    context.diagnostic(`seed ${SEED}: ${JSON.stringify(counts)}`);
  });
});

describe('a server that was killed in its first start', { timeout: 60_000, concurrency: 3 }, () => {
  for (const afterMs of [0, 20, 40, 60, 80, 120]) {
    test(`${afterMs} ms after it listened: the next start makes, or keeps, the credentials in its file`, async () => {
      await using directory = await temporaryDirectory();
      const options = { dataDirectory: directory.path };
      const first = await startServer({ ...options, unready: true });
      await new Promise((resolve) => setTimeout(resolve, afterMs));
      await first.stop('SIGKILL');
      await using server = await startServer(options);
      const { status, text } = await server.request('GET', '/v1/acl/token/self');
      assert.equal(status, 200, text);
      const audit = await server.request('GET', '/v1/audit');
      const made = audit.json<ShownAuditEntry[]>().map(({ Type }) => Type);
      const once = ['acl-token', 'certificate-authority', 'partition', 'user-token'];
      assert.deepEqual(made.sort(), once, 'each was made once, whole');
    });
  }
});
