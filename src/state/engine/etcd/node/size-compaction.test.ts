import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Code, ConnectError } from '@connectrpc/connect';
import { createFakeClock } from '../../../../../test/support/fake-clock.ts';
import type { Call, Endpoint, EtcdClient } from '../client/client.ts';
import { createSizeCompaction } from './size-compaction.ts';
import { readSize, toStoreSpace } from './space.ts';

const MIB = 2 ** 20;
const QUOTA = 1_000 * MIB;

/** An etcd whose size the test sets. Records the revisions of compactions. */
function openEtcd(compactMs: number | 'off' = 600_000) {
  const status = { dbSize: 0, dbSizeInUse: 0, dbSizeQuota: 0, revision: 1 };
  const compacted: bigint[] = [];
  const warnings: string[] = [];
  let failure: unknown;
  const endpoint = {
    maintenance: {
      status: () =>
        failure === undefined
          ? Promise.resolve({ ...status, header: { revision: BigInt(status.revision) } })
          : Promise.reject(failure),
    },
    kv: { compact: ({ revision }: { revision: bigint }) => Promise.resolve(void compacted.push(revision)) },
  } as unknown as Endpoint;
  const call = <T>(run: Call<T>): Promise<T> => run(endpoint, {});
  const client = { attempt: call, retry: call } as unknown as EtcdClient;
  const clock = createFakeClock();
  const log = (level: string, message: string): void => void (level === 'warn' && warnings.push(message));
  const signal = new AbortController().signal;
  const check = createSizeCompaction({ client, clock, log, compactMs, quotaBytes: QUOTA });
  return {
    status,
    compacted,
    warnings,
    readSize: () => readSize(client, QUOTA, signal),
    fail: (error: unknown) => {
      failure = error;
    },
    /** Runs a check 5 s after the last one, at this size and revision. */
    async check(inUse: number, revision: number, file = inUse) {
      clock.advance(5_000);
      Object.assign(status, { dbSize: file, dbSizeInUse: inUse, revision });
      await check(signal);
    },
  };
}

describe('compaction by size', () => {
  it('compacts to 10 s ago once half of the quota is in use [ETCD-88]', async () => {
    const etcd = openEtcd();
    await etcd.check(100 * MIB, 10);
    await etcd.check(200 * MIB, 20);
    await etcd.check(499 * MIB, 30);
    assert.deepEqual(etcd.compacted, []);
    await etcd.check(500 * MIB, 40);
    assert.deepEqual(etcd.compacted, [20n]);
  });

  it('compacts again only when the size has grown by a twentieth of the quota [ETCD-88]', async () => {
    const etcd = openEtcd();
    for (const revision of [10, 20, 30]) await etcd.check(600 * MIB, revision);
    assert.deepEqual(etcd.compacted, [10n]);
    await etcd.check(610 * MIB, 40);
    await etcd.check(560 * MIB, 50);
    await etcd.check(609 * MIB, 60);
    assert.deepEqual(etcd.compacted, [10n]);
    await etcd.check(610 * MIB, 70);
    assert.deepEqual(etcd.compacted, [10n, 50n]);
  });

  it('never compacts when compaction is off, and reports a file that needs defragmentation once [ETCD-88]', async () => {
    const etcd = openEtcd('off');
    for (const revision of [10, 20, 30, 40]) await etcd.check(300 * MIB, revision, 900 * MIB);
    assert.deepEqual(etcd.compacted, []);
    assert.deepEqual(etcd.warnings, ['etcd needs defragmentation']);
    await etcd.check(300 * MIB, 50, 300 * MIB);
    await etcd.check(300 * MIB, 60, 900 * MIB);
    assert.equal(etcd.warnings.length, 2);
  });

  it('does nothing if etcd does not tell its size', async () => {
    const etcd = openEtcd();
    etcd.fail(new ConnectError('unknown service', Code.Unimplemented));
    for (const revision of [10, 20, 30]) await etcd.check(900 * MIB, revision);
    assert.deepEqual(etcd.compacted, []);
    assert.equal(await etcd.readSize(), undefined);
  });
});

describe('the space in etcd', () => {
  it('is the quota without the part in use, and the quota is that of etcd if it reports one [STATE-119]', async () => {
    const etcd = openEtcd();
    Object.assign(etcd.status, { dbSize: 900 * MIB, dbSizeInUse: 400 * MIB });
    const size = await etcd.readSize();
    assert.ok(size);
    assert.equal(size.quota, QUOTA);
    assert.deepEqual(toStoreSpace(size), {
      freeBytes: 600 * MIB,
      reserveBytes: 100 * MIB,
      removalBytes: 50 * MIB,
      reason: 'etcd uses 400 of 1000 MiB (its --quota-backend-bytes, and etcd.quota): remove rows, or raise both',
    });
    etcd.status.dbSizeQuota = 500 * MIB;
    assert.equal((await etcd.readSize())?.quota, 500 * MIB);
  });
});
