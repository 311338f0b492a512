/** Servers whose etcd loses data: compacted revisions, exhausted space, a deleted prefix, and an older snapshot. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { EPOCH_STEP } from '../../src/state/engine/engine.ts';
import { type EtcdCluster, startEtcd } from '../support/process/etcd.ts';
import { startEtcdServer } from '../support/process/etcd-server.ts';
import type { Answer, Server } from '../support/process/server.ts';
import { untilQueriesWait } from '../support/process/waiting-queries.ts';
import { startProxy } from '../support/proxy.ts';
import { skipWithout } from '../support/tools.ts';
import { until } from '../support/until.ts';

const RECOVERY_MS = 30_000;

const indexOf = ({ headers }: Answer): number => Number(headers['x-service-index']);
const putPartition = (server: Server, name: string, token = server.token): Promise<Answer> =>
  server.request('PUT', `/v1/partition/${name}`, { body: {}, token });

/** Compacts all revisions except the newest. */
async function compact(etcd: EtcdCluster): Promise<{ readonly memberId: string }> {
  const { header } = (await etcd.call('/v3/kv/range', { key: 'AA==' })) as {
    header: { revision: string; member_id: string };
  };
  await etcd.call('/v3/kv/compaction', { revision: header.revision, physical: true });
  return { memberId: header.member_id };
}

/** Returns all keys of Accord in etcd. */
async function keys(etcd: EtcdCluster): Promise<string[]> {
  const range = { key: base64('accord/'), range_end: base64('accord0'), keys_only: true };
  const { kvs = [] } = (await etcd.call('/v3/kv/range', range)) as { kvs?: { key: string }[] };
  return kvs.map(({ key }) => Buffer.from(key, 'base64').toString());
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

/** Reads a list continuously, and fails if its index decreases. `stop` resolves with the highest index. */
function watchIndex(server: Server, token: string): { stop(): Promise<number> } {
  let stopped = false;
  const running = (async () => {
    let highest = 0;
    while (!stopped) {
      for (const query of ['?stale', '', `?index=${highest}&wait=100ms`]) {
        const answer = await server.request('GET', `/v1/partitions${query}`, { token });
        if (answer.status !== 200) continue;
        assert.ok(indexOf(answer) >= highest, `${query}: the index decreased from ${highest} to ${indexOf(answer)}`);
        highest = indexOf(answer);
      }
    }
    return highest;
  })();
  return {
    stop() {
      stopped = true;
      return running;
    },
  };
}

describe('servers whose etcd loses data', { skip: skipWithout('etcd'), timeout: 120_000, concurrency: 3 }, () => {
  test('reload the state after revisions that they missed were compacted [V1-75, ETCD-50]', async () => {
    await using etcd = await startEtcd();
    await using a = await startEtcdServer({ endpoints: etcd.urls, name: 'a' });
    await using proxy = await startProxy(etcd.first.port);
    await using b = await startEtcdServer({ endpoints: [proxy.url], name: 'b' });
    const { token } = a;
    const before = await b.request('GET', '/v1/partitions', { token });
    const waiting = b.request('GET', `/v1/partitions?index=${indexOf(before)}&wait=2m`, { token });
    await untilQueriesWait(b, 1);
    // The proxy drops the bytes, because the kernel would buffer them for the frozen process.
    proxy.silence();
    b.process.kill('SIGSTOP');
    await putPartition(a, 'x');
    await a.request('DELETE', '/v1/partition/x');
    await putPartition(a, 'y');
    await until('the lease of b expires', async () => !(await keys(etcd)).includes('accord/nodes/b'));
    await compact(etcd);
    proxy.heal();
    b.process.kill('SIGCONT');
    const woken = await waiting;
    assert.match(woken.text, /"Name":"y"/);
    assert.ok(indexOf(woken) > indexOf(before));
    const after = await b.request('GET', '/v1/partitions', { token });
    assert.equal(after.text, (await a.request('GET', '/v1/partitions')).text);
    assert.ok(indexOf(after) >= indexOf(woken));
    assert.match(b.log(), /"reason":"[^"]*compacted[^"]*","msg":"state reload started"/);
    assert.equal((await putPartition(b, 'z', token)).status, 200);
  });

  // Verifies [ETCD-74].
  test('reject writes with store-full at the quota of etcd, and serve reads [V1-48]', async () => {
    await using etcd = await startEtcd({ flags: ['--quota-backend-bytes=6000000'] });
    await using server = await startEtcdServer({ endpoints: etcd.urls });
    // All writes go to one key, so that a compaction can remove all versions except the last.
    const filler = { key: base64('filler'), value: base64('x'.repeat(1_000_000)) };
    const fill = async (): Promise<void> => {
      for (let count = 0; count < 100; count += 1) await etcd.call('/v3/kv/put', filler);
    };
    await assert.rejects(fill(), /database space exceeded/);
    const rejected = await server.request('PUT', '/v1/acl/token', {
      body: {},
      headers: { accept: 'application/problem+json' },
    });
    const problem = rejected.json<{ code: string; detail: string }>();
    assert.deepEqual([rejected.status, problem.code], [507, 'store-full']);
    assert.match(problem.detail, /--quota-backend-bytes.*NOSPACE/);
    const read = await server.request('GET', '/v1/acl/token/self');
    assert.deepEqual([read.status, read.headers['x-service-knownleader']], [200, 'true']);
    // A server can start and serve reads while the quota is exceeded.
    await using late = await startEtcdServer({ endpoints: etcd.urls, name: 'late' });
    assert.equal((await late.request('GET', '/v1/acl/token/self', { token: server.token })).text, read.text);

    const { memberId } = await compact(etcd);
    await etcd.call('/v3/maintenance/defragment', {});
    await etcd.call('/v3/maintenance/alarm', { action: 'DEACTIVATE', memberID: memberId, alarm: 'NOSPACE' });
    for (const { request } of [server, late]) {
      const isWritable = async (): Promise<boolean> =>
        (await request('PUT', '/v1/acl/token', { body: {}, token: server.token })).status === 200;
      await until('writes work again', isWritable, RECOVERY_MS);
    }
  });

  test('exit with code 1 and answer only 503 after all keys were deleted [SRV-84, ETCD-60]', async () => {
    await using etcd = await startEtcd();
    await using server = await startEtcdServer({ endpoints: etcd.urls });
    const closed = once(server.process, 'close');
    await etcd.call('/v3/kv/deleterange', { key: base64('accord/'), range_end: base64('accord0') });
    const answers: Answer[] = [];
    const sendRequests = async (): Promise<void> => {
      while (server.process.exitCode === null) {
        const answer = await server.request('GET', '/v1/partitions').catch(() => undefined);
        if (answer !== undefined) answers.push(answer);
      }
    };
    const [[exitCode]] = await Promise.all([closed, sendRequests()]);
    assert.equal(exitCode, 1);
    assert.match(
      server.log(),
      /"reason":"the head record is gone from etcd: was the prefix removed\?","msg":"server failed"/,
    );
    for (const { status } of answers) assert.equal(status, 503);
  });

  test('load the state of an older snapshot, and never decrease an index [V1-75, ETCD-49, STATE-8]', async () => {
    await using etcd = await startEtcd();
    await using a = await startEtcdServer({ endpoints: etcd.urls, name: 'a' });
    await using b = await startEtcdServer({ endpoints: etcd.urls, name: 'b' });
    const { token } = a;
    await putPartition(a, 'old');
    await etcd.first.stop();
    etcd.first.saveData();
    await etcd.first.start();
    const isBack = async (): Promise<boolean> => (await putPartition(a, 'lost')).status === 200;
    await until('etcd is available again', isBack, RECOVERY_MS);
    for (let count = 0; count < 10; count += 1) await putPartition(b, `lost-${count}`, token);
    const newest = await b.request('GET', '/v1/partitions', { token });
    const waiting = b.request('GET', `/v1/partitions?index=${indexOf(newest)}&wait=2m`, { token });
    // Later, etcd would be unavailable and reject the query, and the clients below would have queries of their own.
    await untilQueriesWait(b, 1);
    const clients = [watchIndex(a, token), watchIndex(b, token)];
    await etcd.first.stop();
    etcd.first.restoreData();
    await etcd.first.start();
    for (const server of [a, b]) {
      const isInNewEpoch = async (): Promise<boolean> =>
        indexOf(await server.request('GET', '/v1/partitions', { token })) > EPOCH_STEP;
      await until('the server serves the new epoch', isInNewEpoch, RECOVERY_MS);
    }
    const woken = await waiting;
    assert.ok(indexOf(woken) > EPOCH_STEP);
    assert.doesNotMatch(woken.text, /lost/);
    assert.match(woken.text, /"Name":"old"/);
    assert.equal((await putPartition(b, 'new', token)).status, 200);
    assert.match((await a.request('GET', '/v1/partitions')).text, /"Name":"new"/);
    for (const client of clients) assert.ok((await client.stop()) > EPOCH_STEP);
  });
});
