/** Faults of etcd itself: no space, members that die or freeze, a restore, authentication. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { EPOCH_STEP } from '../../src/state/engine/engine.ts';
import { isStateError } from '../../src/state/errors.ts';
import { type EtcdCluster, startEtcd } from '../support/process/etcd.ts';
import { createEtcdNode, type EtcdNode, openEtcdNode, put } from '../support/state/etcd-node.ts';
import { skipWithout } from '../support/tools.ts';
import { until } from '../support/until.ts';

/** Commits numbers one after another until it is told to stop; returns what was acknowledged. */
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

/** Everything below `prefix`, keys and values in base64. */
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

describe('three members of etcd', { skip: skipWithout('etcd'), timeout: 60_000 }, () => {
  test('the leader killed: writes go on, and none that was acknowledged is lost', async () => {
    await using etcd = await startEtcd({ members: 3 });
    await using a = await openEtcdNode({ endpoints: etcd.urls, name: 'a' });
    const writing = writeNumbers(a);
    await until('some writes', () => a.head.index > 20);
    const leader = await etcd.leader();
    await leader.kill();
    const { index } = a.head;
    await until('writes go on without it', () => a.head.index > index + 20);
    await leader.start();
    assertAllThere(a, await writing.stop());
    assert.deepEqual(a.breaks, []);
    await using b = await openEtcdNode({ endpoints: [leader.url], name: 'b' });
    assert.deepEqual(b.rows, a.rows);
  });

  test('two of three frozen: nothing is answered; thawed, everything goes on', async () => {
    await using etcd = await startEtcd({ members: 3 });
    await using a = await openEtcdNode({ endpoints: etcd.urls, name: 'a' });
    await a.write(() => [put('before', '1')]);
    const [, second, third] = etcd.members;
    second?.freeze();
    third?.freeze();
    const outcome = a.commit([put('x', '1')]);
    // What the frozen ones had sent before may still answer a question or two.
    await until('nothing is answered', () =>
      a.engine.head(AbortSignal.timeout(3_000)).then(
        () => false,
        (error: unknown) => isStateError(error, 'unavailable'),
      ),
    );
    // One that had the lead may still have kept the lease alive for a moment.
    await until('the last answer is long ago', () => a.engine.lastContactMs() >= 2_000);
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

describe('etcd stopped and started', { skip: skipWithout('etcd'), timeout: 60_000 }, () => {
  test('a commit waits for it, the watch goes on', async () => {
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
    await until('the other node has them all', () => b.head.index === a.head.index);
    assert.deepEqual(b.rows, a.rows);
    assert.deepEqual([...a.breaks, ...b.breaks], []);
  });
});

describe('a full etcd', { skip: skipWithout('etcd'), timeout: 60_000 }, () => {
  test('commits are refused clearly, reads go on, and commits too once there is room', async () => {
    await using etcd = await startEtcd({ flags: ['--quota-backend-bytes=6000000'] });
    await using a = await openEtcdNode({ endpoints: etcd.urls, name: 'a' });
    // Its commits are answered before its watch shows them: one that lags behind the compaction below loads again.
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
    // What etcd applied and refused at once must have been found out: no commit is left that was not delivered.
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
    await until('the node that could not join has joined', () => a.members.length === 2);
  });
});

describe('etcd restored from an older snapshot', { skip: skipWithout('etcd'), timeout: 60_000 }, () => {
  test('every node reloads at an index above all that was served, in one new epoch', async () => {
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
    await until('both have all', () => b.head.index === 12);
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

  test('a restored etcd that has overtaken the served index is noticed all the same', async () => {
    await using etcd = await startEtcd();
    await using a = await openEtcdNode({ endpoints: etcd.urls, name: 'a' });
    await a.write(() => [put('x', 'old')]);
    await etcd.first.stop();
    etcd.first.saveData();
    await etcd.first.start();
    await a.write(() => [put('x', 'lost')]);
    await etcd.first.stop();
    etcd.first.restoreData();
    const stalled = etcd.first;
    // A node that starts now knows nothing of what was lost, and commits past it before the first one is back.
    await stalled.start();
    await using b = await openEtcdNode({ endpoints: etcd.urls, name: 'b' });
    for (let count = 0; count < 5; count += 1) await b.write(() => [put('other', `${count}`)]);
    await until('the break', () => a.breaks.length > 0, 20_000);
    const { epoch, index } = await a.load();
    assert.ok(epoch === 2 && index > EPOCH_STEP);
    assert.equal(a.rows.get('t/x'), 'old');
    assert.equal(a.rows.get('t/other'), '4');
  });

  test('the same keys in another etcd cluster begin a new epoch', async () => {
    await using old = await startEtcd();
    await using other = await startEtcd();
    {
      await using a = await openEtcdNode({ endpoints: old.urls, name: 'a', leaseMs: 2_000 });
      await a.write(() => [put('x', '1')]);
    }
    // A node that did not get to say goodbye would be copied as well, and without a lease it never goes.
    await until('the node is gone', async () => (await rangeOf(old, 'accord/nodes/')).length === 0);
    const kvs = await rangeOf(old, 'accord/');
    for (const { key, value } of kvs) await other.call('/v3/kv/put', { key, value });
    await using a = await openEtcdNode({ endpoints: other.urls, name: 'a' });
    assert.deepEqual([a.head.epoch, a.head.index], [2, 2 + EPOCH_STEP]);
    assert.equal(a.rows.get('t/x'), '1');
  });
});

describe('etcd with authentication', { skip: skipWithout('etcd'), timeout: 60_000 }, () => {
  test('a user whose token is lost authenticates again; one without the right is told', async () => {
    await using etcd = await startEtcd();
    const credentials = { username: 'root', password: 'secret' };
    // Configured before etcd's authentication is enabled: works without.
    await using a = await openEtcdNode({ endpoints: etcd.urls, name: 'a', credentials });
    await a.write(() => [put('x', '0')]);
    await etcd.call('/v3/auth/user/add', { name: 'root', password: 'secret' });
    await etcd.call('/v3/auth/user/add', { name: 'nobody', password: 'secret' });
    await etcd.call('/v3/auth/role/add', { name: 'root' });
    await etcd.call('/v3/auth/user/grant', { user: 'root', role: 'root' });
    await etcd.call('/v3/auth/enable', {});
    await a.write(() => [put('x', '1')]);
    await using b = await openEtcdNode({ endpoints: etcd.urls, name: 'b', credentials });
    // Tokens are kept in memory by etcd: a restart forgets them.
    await etcd.first.kill();
    await etcd.first.start();
    await a.write(() => [put('x', '2')]);
    await until('the watch authenticates again as well', () => b.rows.get('t/x') === '2');
    assert.deepEqual([...a.breaks, ...b.breaks], []);
    const refused = (username: string, password: string): Promise<EtcdNode> =>
      openEtcdNode({ endpoints: etcd.urls, name: 'c', credentials: { username, password } });
    await assert.rejects(refused('nobody', 'secret'), /permission denied/);
    await assert.rejects(refused('root', 'wrong'), /authentication failed/);
  });
});

describe('etcd with TLS', { skip: skipWithout('etcd'), timeout: 60_000 }, () => {
  test('works with the certificate that signs it, and refuses one that nobody vouches for', async () => {
    await using etcd = await startEtcd({ tls: true });
    await using a = await openEtcdNode({ endpoints: etcd.urls, name: 'a', tls: { ca: etcd.first.certificate() } });
    assert.equal(await a.commit([put('x', '1')]), 'committed');
    await using stranger = createEtcdNode({ endpoints: etcd.urls, name: 'b' });
    // It tries until it is told to stop, and then says why the last try failed.
    const stop = new AbortController();
    const refused = assert.rejects(stranger.open(stop.signal), /self-signed certificate/);
    await Promise.race([until('a try has failed', () => stranger.log.length > 0), refused]);
    stop.abort();
    await refused;
  });
});
