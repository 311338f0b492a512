/** Tests of following foreign commits on a real etcd: cut connections, large gaps, compaction. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createClient, type Transport } from '@connectrpc/connect';
import { Watch } from '../../src/state/engine/etcd/client/gen/etcd_pb.ts';
import { grpcLink, type Link } from '../../src/state/engine/etcd/client/transport.ts';
import { type EtcdCluster, startEtcd } from '../support/process/etcd.ts';
import { startProxy } from '../support/proxy.ts';
import { createEtcdNode, type EtcdNode, openEtcdNode, put } from '../support/state/etcd-node.ts';
import { skipWithout } from '../support/tools.ts';
import { until } from '../support/until.ts';

/** Makes `count` commits of `operations` rows with `size` bytes each. */
async function fill(node: EtcdNode, count: number, operations: number, size: number): Promise<void> {
  for (let round = 0; round < count; round += 1) {
    const value = String(round).padEnd(size, '.');
    await node.write(() => Array.from({ length: operations }, (_, at) => put(`row${at}`, value)));
  }
}

async function compactNow(etcd: EtcdCluster): Promise<void> {
  const { header } = (await etcd.call('/v3/kv/range', { key: 'AA==' })) as { header: { revision: string } };
  await etcd.call('/v3/kv/compaction', { revision: header.revision });
}

/** Whether etcd sends the history below `prefix` in fragments to a watch that starts at revision 1. */
async function comesInFragments(url: string, prefix: string): Promise<boolean> {
  const link = grpcLink(url, undefined);
  const abort = new AbortController();
  const range = { key: Buffer.from(prefix), rangeEnd: Buffer.from(`${prefix.slice(0, -1)}0`) };
  async function* requests() {
    yield { request: { case: 'createRequest' as const, value: { ...range, startRevision: 1n, fragment: true } } };
    await new Promise((resolve) => abort.signal.addEventListener('abort', resolve, { once: true }));
  }
  try {
    for await (const { created, fragment } of createClient(Watch, link.transport).watch(requests())) {
      if (!created) return fragment;
    }
    return false;
  } finally {
    abort.abort();
    link.drop(new Error('done'));
  }
}

/** Opens real connections that run `before` ahead of each unary request. */
function interrupted(before: (message: object) => Promise<void>): (endpoint: string) => Link {
  return (endpoint) => {
    const link = grpcLink(endpoint, undefined);
    const transport: Transport = {
      async unary(method, signal, timeoutMs, header, input, contextValues) {
        await before(input);
        return link.transport.unary(method, signal, timeoutMs, header, input, contextValues);
      },
      stream: (...call) => link.transport.stream(...call),
    };
    return { transport, drop: (reason) => link.drop(reason) };
  };
}

describe('following on etcd', { skip: skipWithout('etcd'), timeout: 60_000 }, () => {
  let etcd: EtcdCluster;
  before(async () => {
    etcd = await startEtcd({ flags: ['--max-request-bytes=200000'] });
  });
  after(() => etcd[Symbol.asyncDispose]());

  test('two nodes receive the commits of both in the same order', async () => {
    await using a = await openEtcdNode({ endpoints: etcd.urls, prefix: 'two/', name: 'a' });
    await using b = await openEtcdNode({ endpoints: etcd.urls, prefix: 'two/', name: 'b' });
    const increments = async (node: EtcdNode): Promise<void> => {
      for (let count = 0; count < 50; count += 1) {
        await node.write((rows) => [
          put('n', String(Number(rows.get('t/n') ?? 0) + 1)),
          put('toggled', rows.has('t/toggled') ? null : ''),
        ]);
      }
    };
    await Promise.all([increments(a), increments(b)]);
    await until('both have all commits', () => a.head.index === 101 && b.head.index === 101);
    assert.equal(a.rows.get('t/n'), '100');
    assert.deepEqual(
      a.commits.map(({ operations }) => operations),
      b.commits.map(({ operations }) => operations),
    );
  });

  test('a disconnected node catches up through fragments, and receives each revision as one commit [ETCD-44]', async () => {
    await using proxy = await startProxy(etcd.first.port);
    await using a = await openEtcdNode({ endpoints: [proxy.url], prefix: 'far/', name: 'a' });
    await using b = await openEtcdNode({ endpoints: etcd.urls, prefix: 'far/', name: 'b' });
    proxy.silence();
    await fill(b, 20, 100, 1_500);
    assert.equal(await comesInFragments(etcd.first.url, 'far/'), true);
    proxy.heal();
    await until('it has caught up', () => a.head.index === 21);
    assert.deepEqual(a.breaks, []);
    assert.deepEqual(
      a.commits.map(({ operations }) => operations),
      b.commits.map(({ operations }) => operations),
    );
  });

  // Verifies [STATE-106].
  test('a compaction while a node is disconnected is a break, and a load continues from there [ETCD-50]', async () => {
    await using proxy = await startProxy(etcd.first.port);
    await using a = await openEtcdNode({ endpoints: [proxy.url], prefix: 'away/', name: 'a' });
    await using b = await openEtcdNode({ endpoints: etcd.urls, prefix: 'away/', name: 'b' });
    // Its commits are answered before its watch delivers them, so a watch behind the compaction breaks as well.
    b.reloadAfterBreaks();
    proxy.silence();
    await fill(b, 3, 1, 10);
    await compactNow(etcd);
    await fill(b, 2, 1, 10);
    proxy.heal();
    await until('the break', () => a.breaks.length === 1);
    assert.match(a.breaks[0] ?? '', /compacted/);
    assert.deepEqual(a.commits, []);
    const { epoch, index } = await a.load();
    assert.deepEqual([epoch, index], [1, 6]);
    await until('the other node has all commits, loaded again or not', () => b.head.index === index);
    assert.deepEqual(a.rows, b.rows);
    await b.write(() => [put('more', '1')]);
    await until('it follows again', () => a.rows.get('t/more') === '1');
  });

  test('a load starts again if its revision is compacted [ETCD-56]', async () => {
    await using b = await openEtcdNode({ endpoints: etcd.urls, prefix: 'load/', name: 'b' });
    for (let at = 0; at < 12; at += 1) {
      await b.write(() => Array.from({ length: 100 }, (_, row) => put(`${at}/${row}`, 'old')));
    }
    let compacted = false;
    // The first page has 1,000 rows. A request with a higher limit is for a later page, which the compaction fails.
    const beforeRequest = async (message: object): Promise<void> => {
      if (compacted || !('limit' in message) || message.limit === undefined || BigInt(String(message.limit)) <= 1_000n)
        return;
      compacted = true;
      await b.write(() => [put('0/0', 'new')]);
      await compactNow(etcd);
    };
    await using a = createEtcdNode({
      endpoints: etcd.urls,
      prefix: 'load/',
      name: 'a',
      connect: interrupted(beforeRequest),
    });
    await a.open();
    const read = new Map<string, string>();
    let restarts = 0;
    const head = await a.engine.load(
      async (rows) => {
        for (const { table, key, value } of rows) read.set(`${table}/${key}`, value);
      },
      () => {
        restarts += 1;
        read.clear();
      },
      undefined,
      AbortSignal.timeout(10_000),
    );
    assert.deepEqual([compacted, restarts], [true, 1]);
    assert.equal(head.index, 14);
    assert.deepEqual(read, b.rows);
  });

  test('a load skips store-only tables, and scan reads them in either direction [ETCD-17] [ETCD-61]', async () => {
    const settings = { endpoints: etcd.urls, prefix: 'only/', storeOnly: ['audit'] };
    await using a = await openEtcdNode({ ...settings, name: 'a' });
    const audit = ['1', '2', '3', '4'].map((key) => put(key, `v${key}`, 'audit'));
    await a.write(() => [...audit, put('x', '1'), put('~y', '2', 'zz')]);
    await using b = await openEtcdNode({ ...settings, name: 'b' });
    assert.deepEqual([...b.rows.keys()].sort(), ['t/x', 'zz/~y']);
    const signal = AbortSignal.timeout(5_000);
    const keys = async (range: object): Promise<string[]> =>
      (await b.engine.scan('audit', { limit: 2, ...range }, signal)).map(({ key }) => key);
    assert.deepEqual(await keys({}), ['1', '2']);
    assert.deepEqual(await keys({ reverse: true }), ['4', '3']);
    assert.deepEqual(await keys({ from: '2', to: '4', limit: 9 }), ['2', '3']);
  });

  test('a head with a newer format is a break, and the next load reports it [ETCD-20] [ETCD-51]', async () => {
    await using a = await openEtcdNode({ endpoints: etcd.urls, prefix: 'new/', name: 'a' });
    const value = Buffer.from(JSON.stringify({ format: 99 })).toString('base64');
    await etcd.call('/v3/kv/put', { key: Buffer.from('new/head').toString('base64'), value });
    await until('the break', () => a.breaks.length === 1);
    await assert.rejects(a.load(), /format 99; this program reads up to 2/);
  });
});
