/** Tests of commits with ambiguous failures, on a real etcd behind a faulty proxy. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { isStateError } from '../../src/state/errors.ts';
import { type EtcdCluster, startEtcd } from '../support/process/etcd.ts';
import { startProxy } from '../support/proxy.ts';
import { openEtcdNode, put } from '../support/state/etcd-node.ts';
import { skipWithout } from '../support/tools.ts';
import { until } from '../support/until.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('commits on etcd', { skip: skipWithout('etcd'), timeout: 60_000 }, () => {
  let etcd: EtcdCluster;
  before(async () => {
    etcd = await startEtcd();
  });
  after(() => etcd[Symbol.asyncDispose]());

  // Verifies [STATE-103] [ETCD-23] [ETCD-25] [ETCD-30] [ETCD-31].
  test('a commit whose response is lost while another node commits is committed and delivered once', async () => {
    await using proxy = await startProxy(etcd.first.port);
    await using a = await openEtcdNode({ endpoints: [proxy.url], prefix: 'cut/', name: 'a' });
    await using b = await openEtcdNode({ endpoints: etcd.urls, prefix: 'cut/', name: 'b' });
    for (let round = 0; round < 5; round += 1) {
      proxy.filterAnswers(() => 'drop');
      const outcome = a.commit([put('x', `a${round}`)]);
      await until('the other node sees the commit', () => b.rows.get('t/x') === `a${round}`);
      await b.write(() => [put('x', `b${round}`)]);
      proxy.filterAnswers(undefined);
      proxy.cut();
      assert.equal(await outcome, 'committed');
      await until('the foreign commit arrives', () => a.rows.get('t/x') === `b${round}`);
    }
    assert.deepEqual(
      a.commits.map(({ index, own }) => [index, own]),
      Array.from({ length: 10 }, (_, at) => [at + 2, at % 2 === 0]),
    );
    assert.deepEqual(a.breaks, []);
  });

  // Verifies [STATE-102] [ETCD-32].
  test('a commit that did not reach etcd before another node committed is a conflict and is never made', async () => {
    await using proxy = await startProxy(etcd.first.port);
    await using a = await openEtcdNode({ endpoints: [proxy.url], prefix: 'lost/', name: 'a' });
    await using b = await openEtcdNode({ endpoints: etcd.urls, prefix: 'lost/', name: 'b' });
    proxy.silence();
    const outcome = a.commit([put('x', 'a')]);
    await b.write(() => [put('y', 'b')]);
    proxy.heal();
    assert.equal(await outcome, 'conflict');
    await until('the winner is delivered', () => a.rows.get('t/y') === 'b');
    await b.load();
    assert.deepEqual([...b.rows], [['t/y', 'b']]);
  });

  test('a commit and the watch move from a half-open endpoint to the next one [ETCD-2] [ETCD-48]', async () => {
    await using proxy = await startProxy(etcd.first.port);
    await using a = await openEtcdNode({ endpoints: [proxy.url, etcd.first.url], prefix: 'half/', name: 'a' });
    await using b = await openEtcdNode({ endpoints: etcd.urls, prefix: 'half/', name: 'b' });
    proxy.silence();
    assert.equal(await a.commit([put('x', '1')]), 'committed');
    await b.write(() => [put('y', '2')]);
    await until('the watch continues', () => a.rows.get('t/y') === '2');
    assert.deepEqual(a.breaks, []);
  });

  test('a commit whose writer key is missing fails with outcome-unknown and causes a break [ETCD-33]', async () => {
    await using proxy = await startProxy(etcd.first.port);
    await using a = await openEtcdNode({ endpoints: [proxy.url], prefix: 'gone/', name: 'a' });
    await using b = await openEtcdNode({ endpoints: etcd.urls, prefix: 'gone/', name: 'b' });
    proxy.silence();
    const outcome = a.commit([put('x', 'a')]);
    await b.write(() => [put('x', 'b')]);
    await etcd.call('/v3/kv/deleterange', { key: base64('gone/writers/'), range_end: base64('gone/writers0') });
    proxy.heal();
    await assert.rejects(outcome, (error) => isStateError(error, 'outcome-unknown'));
    assert.equal(a.breaks.length, 1);
  });

  test('the outcome is found although the lease is lost [ETCD-36] [ETCD-18]', async () => {
    await using proxy = await startProxy(etcd.first.port);
    await using a = await openEtcdNode({ endpoints: [proxy.url], prefix: 'lease/', name: 'a' });
    await using b = await openEtcdNode({ endpoints: etcd.urls, prefix: 'lease/', name: 'b' });
    proxy.silence();
    const outcome = a.commit([put('x', 'a')]);
    await b.write(() => [put('x', 'b')]);
    const { kvs } = (await etcd.call('/v3/kv/range', { key: base64('lease/nodes/a') })) as { kvs: { lease: string }[] };
    await etcd.call('/v3/lease/revoke', { ID: kvs[0]?.lease });
    proxy.heal();
    assert.equal(await outcome, 'conflict');
  });

  // Verifies [STATE-103].
  test('a commit whose signal aborts fails with outcome-unknown, and the next one succeeds [ETCD-37]', async () => {
    await using proxy = await startProxy(etcd.first.port);
    await using a = await openEtcdNode({ endpoints: [proxy.url], prefix: 'giveup/', name: 'a' });
    proxy.silence();
    await assert.rejects(a.commit([put('x', '1')], AbortSignal.timeout(100)), (error) =>
      isStateError(error, 'outcome-unknown'),
    );
    await assert.rejects(a.engine.head(AbortSignal.timeout(100)), (error) => isStateError(error, 'unavailable'));
    proxy.heal();
    await a.write(() => [put('x', '2')]);
    assert.equal(a.rows.get('t/x'), '2');
  });

  test('a commit on a head that has moved is a conflict without being sent [ETCD-29]', async () => {
    await using a = await openEtcdNode({ endpoints: etcd.urls, prefix: 'stale/' });
    const { epoch, index } = a.head;
    await a.commit([put('x', '1')]);
    const outcome = a.engine.commit({ epoch, base: index, operations: [put('x', '2')] }, AbortSignal.timeout(1_000));
    assert.equal(await outcome, 'conflict');
    assert.equal(a.rows.get('t/x'), '1');
  });
});

describe('the size of a commit on etcd', { skip: skipWithout('etcd'), timeout: 60_000 }, () => {
  const operations = (count: number) => Array.from({ length: count }, (_, at) => put(String(at), 'v'));

  test('a commit with `operationsMax` operations succeeds, also when it removes a ticket [ETCD-26]', async () => {
    await using etcd = await startEtcd();
    await using a = await openEtcdNode({ endpoints: etcd.urls, name: 'a' });
    await using b = await openEtcdNode({ endpoints: etcd.urls, name: 'b' });
    const { operationsMax } = a.engine.limits;
    assert.equal(operationsMax, 125);
    // One of two simultaneous commits loses, puts a ticket, and removes it with its next commit.
    await Promise.all([a, b].map((node) => node.write(() => operations(operationsMax))));
    assert.equal(a.rows.size, 125);
  });

  // Verifies [ETCD-27].
  test('a commit that exceeds the limits of etcd fails with too-large, and succeeds with higher limits', async () => {
    await using small = await startEtcd();
    await using refused = await openEtcdNode({ endpoints: small.urls, maxTxnOps: 2_000 });
    await assert.rejects(refused.commit(operations(1_000)), (error) => isStateError(error, 'too-large'));
    await assert.rejects(refused.commit([put('x', 'y'.repeat(2_000_000))]), (error) =>
      isStateError(error, 'too-large'),
    );
    assert.match(refused.engine.limits.hint, /--max-txn-ops.*--max-request-bytes/);
    await using large = await startEtcd({ flags: ['--max-txn-ops=20000', '--max-request-bytes=10485760'] });
    await using taken = await openEtcdNode({ endpoints: large.urls, maxTxnOps: 20_000, maxTxnBytes: 10_000_000 });
    assert.equal(await taken.commit(operations(1_000)), 'committed');
    assert.equal(await taken.commit([put('x', 'y'.repeat(2_000_000))]), 'committed');
  });
});
