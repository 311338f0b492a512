/** `kill -9` of a server during concurrent writes. `kill.long.ts` runs more rounds. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AuditEntryJson } from '../../src/audit/read-audit.ts';
import { startEtcd } from '../support/process/etcd.ts';
import { killUnderLoad } from '../support/process/kill-under-load.ts';
import { startServer } from '../support/process/server.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { skipWithout } from '../support/tools.ts';

const ROUNDS = 10;
const SEED = 20_261_121;

describe('a server that is killed repeatedly', { timeout: 180_000, concurrency: 2 }, () => {
  // Verifies [STATE-1] [STATE-2] [STATE-8] [SQLITE-25].
  test('on SQLite keeps acknowledged writes and never decreases an index', async (context) => {
    const counts = await killUnderLoad({ rounds: ROUNDS, seed: SEED, settings: () => ({}) });
    context.diagnostic(`seed ${SEED}: ${JSON.stringify(counts)}`);
  });

  // Verifies [STATE-2] [STATE-8].
  test('on etcd keeps acknowledged writes and never decreases an index [STATE-1]', {
    skip: skipWithout('etcd'),
  }, async (context) => {
    await using etcd = await startEtcd();
    const counts = await killUnderLoad({
      rounds: ROUNDS,
      seed: SEED,
      // Two alternating names: the lease of a killed server has expired before its name is used again.
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

describe('a server that was killed during its first start', { timeout: 60_000, concurrency: 3 }, () => {
  for (const afterMs of [0, 20, 40, 60, 80, 120]) {
    test(`creates the first credentials once, if killed ${afterMs} ms after it listened [SRV-39]`, async () => {
      await using directory = await temporaryDirectory();
      const options = { dataDirectory: directory.path };
      const first = await startServer({ ...options, resolveWhenListening: true });
      await new Promise((resolve) => setTimeout(resolve, afterMs));
      await first.stop('SIGKILL');
      await using server = await startServer(options);
      const { status, text } = await server.request('GET', '/v1/acl/token/self');
      assert.equal(status, 200, text);
      const audit = await server.request('GET', '/v1/audit');
      const created = audit.json<AuditEntryJson[]>().map(({ Type }) => Type);
      const expected = ['acl-token', 'certificate-authority', 'partition', 'user-token'];
      assert.deepEqual(created.sort(), expected, 'each object was created once');
    });
  }
});
