/** Tests of faults of etcd itself: no space, dead or frozen members, a restore, authentication, TLS. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { EPOCH_STEP } from '../../src/state/engine/engine.ts';
import { isStateError } from '../../src/state/errors.ts';
import { type EtcdCluster, startEtcd } from '../support/process/etcd.ts';
import { createEtcdNode, type EtcdNode, openEtcdNode, put } from '../support/state/etcd-node.ts';
import { skipWithout } from '../support/tools.ts';
import { until } from '../support/until.ts';

/** Commits increasing numbers until `stop`, which returns the acknowledged ones. */
function writeNumbers(node: EtcdNode): { stop(): Promise<number[]> } {
  const acknowledged: number[] = [];
  let stopped = false;
  const running = (async () => {
    for (let number = 0; !stopped; number += 1) {
      await node.write(() => [put(`${number}`, 'v')]);
      acknowledged.push(number);
    }
  })();
  return {
    async stop() {
      stopped = true;
      await running;
      return acknowledged;
    },
  };
}

/** Returns all keys below `prefix` with their values, both in base64. */
async function rangeOf(etcd: EtcdCluster, prefix: string): Promise<readonly { key: string; value: string }[]> {
  const range = {
    key: Buffer.from(prefix).toString('base64'),
    range_end: Buffer.from(`${prefix.slice(0, -1)}0`).toString('base64'),
  };
  const { kvs = [] } = (await etcd.call('/v3/kv/range', range)) as { kvs?: { key: string; value: string }[] };
  return kvs;
}

function assertAllThere(node: EtcdNode, acknowledged: readonly number[]): void {
  assert.ok(acknowledged.length > 0);
  assert.deepEqual(
    acknowledged.filter((number) => !node.rows.has(`t/${number}`)),
    [],
  );
}

describe('an etcd of three members', { skip: skipWithout('etcd'), timeout: 60_000 }, () => {
  test('keeps every acknowledged write when the leader is killed, and writes continue', async () => {
    await using etcd = await startEtcd({ members: 3 });
    await using a = await openEtcdNode({ endpoints: etcd.urls, name: 'a' });
    const writing = writeNumbers(a);
    await until('some writes', () => a.head.index > 20);
    const leader = await etcd.leader();
    await leader.kill();
    const { index } = a.head;
    await until('writes continue without it', () => a.head.index > index + 20);
    await leader.start();
    assertAllThere(a, await writing.stop());
    assert.deepEqual(a.breaks, []);
    await using b = await openEtcdNode({ endpoints: [leader.url], name: 'b' });
    assert.deepEqual(b.rows, a.rows);
  });

  test('answers no request while two members are frozen, and continues after they are thawed [ETCD-11]', async () => {
    await using etcd = await startEtcd({ members: 3 });
    await using a = await openEtcdNode({ endpoints: etcd.urls, name: 'a' });
    await a.write(() => [put('before', '1')]);
    const [, second, third] = etcd.members;
    second?.freeze();
    third?.freeze();
    const outcome = a.commit([put('x', '1')]);
    // Messages that the members sent before the freeze may still complete a few requests.
    await until('no request is answered', () =>
      a.engine.head(AbortSignal.timeout(3_000)).then(
        () => false,
        (error: unknown) => isStateError(error, 'unavailable'),
      ),
    );
    // A remaining leader may have kept the lease alive for a moment.
    await until('the last answer is 2 s old', () => a.engine.lastContactMs() >= 2_000);
    second?.thaw();
    third?.thaw();
    assert.equal(await outcome, 'committed');
    assert.equal(a.rows.get('t/x'), '1');
    await until('the store answers again', () =>
      a.engine.head(AbortSignal.timeout(5_000)).then(
        ({ index }) => index === a.head.index,
        () => false,
      ),
    );
  });
});

describe('an etcd that restarts', { skip: skipWithout('etcd'), timeout: 60_000 }, () => {
  test('delays a commit, and the watch continues [ETCD-48]', async () => {
    await using etcd = await startEtcd();
    await using a = await openEtcdNode({ endpoints: etcd.urls, name: 'a' });
    await using b = await openEtcdNode({ endpoints: etcd.urls, name: 'b' });
    const writing = writeNumbers(a);
    for (let round = 0; round < 3; round += 1) {
      const { index } = a.head;
      await until('some writes', () => a.head.index > index + 10);
      await etcd.first.kill();
      await etcd.first.start();
    }
    assertAllThere(a, await writing.stop());
    await until('the other node has all commits', () => b.head.index === a.head.index);
    assert.deepEqual(b.rows, a.rows);
    assert.deepEqual([...a.breaks, ...b.breaks], []);
  });
});

describe('a full etcd', { skip: skipWithout('etcd'), timeout: 60_000 }, () => {
  // Verifies [ETCD-13] [ETCD-14] [ETCD-74].
  test('rejects commits with full and serves reads, and accepts commits when it has space again [ETCD-35]', async () => {
    await using etcd = await startEtcd({ flags: ['--quota-backend-bytes=6000000'] });
    await using a = await openEtcdNode({ endpoints: etcd.urls, name: 'a' });
    // Its commits are answered before its watch delivers them, so it loads again if the compaction below overtakes it.
    a.reloadAfterBreaks();
    const value = 'x'.repeat(8_000);
    const fill = async (): Promise<void> => {
      for (;;) await a.write(() => Array.from({ length: 100 }, (_, at) => put(`${at}`, value)));
    };
    await assert.rejects(fill(), (error) => {
      assert.ok(isStateError(error, 'full'));
      assert.match(error.message, /--quota-backend-bytes.*NOSPACE/);
      return true;
    });
    const { index } = await a.engine.head(AbortSignal.timeout(10_000));
    // If etcd applied a commit and still rejected it, the engine has found that out and delivered the commit.
    assert.equal(a.head.index, index);
    await assert.rejects(a.commit([put('y', '1')]), (error) => isStateError(error, 'full'));
    await using reader = await openEtcdNode({ endpoints: etcd.urls, name: 'b' });
    assert.deepEqual(reader.rows, a.rows);
    const { header } = (await etcd.call('/v3/kv/range', { key: 'AA==' })) as {
      header: { revision: string; member_id: string };
    };
    await etcd.call('/v3/kv/compaction', { revision: header.revision, physical: true });
    await etcd.call('/v3/maintenance/defragment', {});
    await etcd.call('/v3/maintenance/alarm', { action: 'DEACTIVATE', memberID: header.member_id, alarm: 'NOSPACE' });
    assert.equal(await a.commit([put('y', '1')]), 'committed');
    await until('the node that could not join has joined', () => a.liveNodes.length === 2);
  });
});

describe('an etcd that was restored from an older snapshot', { skip: skipWithout('etcd'), timeout: 60_000 }, () => {
  // Verifies [STATE-15] [ETCD-49].
  test('makes every node reload in one new epoch, with an index above every served one [ETCD-59]', async () => {
    await using etcd = await startEtcd();
    await using a = await openEtcdNode({ endpoints: etcd.urls, name: 'a' });
    await using b = await openEtcdNode({ endpoints: etcd.urls, name: 'b' });
    a.reloadAfterBreaks();
    b.reloadAfterBreaks();
    await a.write(() => [put('x', 'old')]);
    await etcd.first.stop();
    etcd.first.saveData();
    await etcd.first.start();
    for (let count = 0; count < 10; count += 1) await a.write(() => [put('x', `new${count}`), put('y', 'new')]);
    await until('both have all commits', () => b.head.index === 12);
    await etcd.first.stop();
    etcd.first.restoreData();
    await etcd.first.start();
    await until('both are in the new epoch', () => a.head.epoch === 2 && b.head.epoch === 2, 20_000);
    assert.equal(a.head.index, 12 + EPOCH_STEP);
    assert.deepEqual([...a.rows], [['t/x', 'old']]);
    assert.deepEqual(a.rows, b.rows);
    await b.write(() => [put('z', '1')]);
    await until('commits reach both', () => a.rows.get('t/z') === '1');
    for (const { indexes } of [a, b])
      assert.deepEqual(
        indexes,
        [...indexes].sort((one, other) => one - other),
      );
  });

  test('is detected although it has overtaken the served index [ETCD-58] [ETCD-49]', async () => {
    await using etcd = await startEtcd();
    await using a = await openEtcdNode({ endpoints: etcd.urls, name: 'a' });
    await a.write(() => [put('x', 'old')]);
    await etcd.first.stop();
    etcd.first.saveData();
    await etcd.first.start();
    await a.write(() => [put('x', 'lost')]);
    await etcd.first.stop();
    etcd.first.restoreData();
    // A node that starts now does not know the lost commit, and commits past its index before the first one reconnects.
    await etcd.first.start();
    await using b = await openEtcdNode({ endpoints: etcd.urls, name: 'b' });
    for (let count = 0; count < 5; count += 1) await b.write(() => [put('other', `${count}`)]);
    await until('the break', () => a.breaks.length > 0, 20_000);
    const { epoch, index } = await a.load();
    assert.ok(epoch === 2 && index > EPOCH_STEP);
    assert.equal(a.rows.get('t/x'), 'old');
    assert.equal(a.rows.get('t/other'), '4');
  });

  test('starts a new epoch if its keys were copied to another etcd cluster [ETCD-58]', async () => {
    await using old = await startEtcd();
    await using other = await startEtcd();
    {
      await using a = await openEtcdNode({ endpoints: old.urls, name: 'a', leaseMs: 2_000 });
      await a.write(() => [put('x', '1')]);
    }
    // A node key that still exists would be copied without its lease and would never expire.
    await until('the node has left', async () => (await rangeOf(old, 'accord/nodes/')).length === 0);
    const kvs = await rangeOf(old, 'accord/');
    for (const { key, value } of kvs) await other.call('/v3/kv/put', { key, value });
    await using a = await openEtcdNode({ endpoints: other.urls, name: 'a' });
    assert.deepEqual([a.head.epoch, a.head.index], [2, 2 + EPOCH_STEP]);
    assert.equal(a.rows.get('t/x'), '1');
  });
});

describe('an etcd with authentication', { skip: skipWithout('etcd'), timeout: 60_000 }, () => {
  // Verifies [ETCD-9] [ETCD-10] [ETCD-22].
  test('makes the engine authenticate again after it lost the token, and rejects other users [ETCD-8]', async () => {
    await using etcd = await startEtcd();
    const credentials = { username: 'root', password: 'secret' };
    // The credentials are configured before authentication is enabled in etcd.
    await using a = await openEtcdNode({ endpoints: etcd.urls, name: 'a', credentials });
    await a.write(() => [put('x', '0')]);
    await etcd.call('/v3/auth/user/add', { name: 'root', password: 'secret' });
    await etcd.call('/v3/auth/user/add', { name: 'nobody', password: 'secret' });
    await etcd.call('/v3/auth/role/add', { name: 'root' });
    await etcd.call('/v3/auth/user/grant', { user: 'root', role: 'root' });
    await etcd.call('/v3/auth/enable', {});
    await a.write(() => [put('x', '1')]);
    await using b = await openEtcdNode({ endpoints: etcd.urls, name: 'b', credentials });
    // etcd keeps tokens in memory and loses them at a restart.
    await etcd.first.kill();
    await etcd.first.start();
    await a.write(() => [put('x', '2')]);
    await until('the watch has authenticated again', () => b.rows.get('t/x') === '2');
    assert.deepEqual([...a.breaks, ...b.breaks], []);
    const openAs = (username: string, password: string): Promise<EtcdNode> =>
      openEtcdNode({ endpoints: etcd.urls, name: 'c', credentials: { username, password } });
    await assert.rejects(openAs('nobody', 'secret'), /permission denied/);
    await assert.rejects(openAs('root', 'wrong'), /authentication failed/);
  });
});

describe('an etcd with TLS', { skip: skipWithout('etcd'), timeout: 60_000 }, () => {
  test('is accepted with its CA certificate and rejected without it', async () => {
    await using etcd = await startEtcd({ tls: true });
    await using a = await openEtcdNode({ endpoints: etcd.urls, name: 'a', tls: { ca: etcd.first.certificate() } });
    assert.equal(await a.commit([put('x', '1')]), 'committed');
    await using untrusting = createEtcdNode({ endpoints: etcd.urls, name: 'b' });
    // `open` retries until its signal aborts, and then rejects with the last failure.
    const stop = new AbortController();
    const rejected = assert.rejects(untrusting.open(stop.signal), /self-signed certificate/);
    await Promise.race([until('an attempt has failed', () => untrusting.log.length > 0), rejected]);
    stop.abort();
    await rejected;
  });
});
