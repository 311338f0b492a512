/** Following the commits of others on a real etcd: through cuts, large gaps, compaction. */
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

/** Commits `count` times `operations` rows of `size` bytes. */
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

/** Whether etcd sends what happened below `prefix` in fragments to a watch that starts at its beginning. */
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

/** Opens real connections, on which `before` runs ahead of each unary request. */
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

  test('commits of two nodes reach both in one order', async () => {
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
    await until('both have all', () => a.head.index === 101 && b.head.index === 101);
    assert.equal(a.rows.get('t/n'), '100');
    assert.deepEqual(
      a.commits.map(({ operations }) => operations),
      b.commits.map(({ operations }) => operations),
    );
  });

  test('a node that was cut off catches up through fragments, and no revision is taken apart', async () => {
    await using proxy = await startProxy(etcd.first.port);
    await using a = await openEtcdNode({ endpoints: [proxy.url], prefix: 'far/', name: 'a' });
    await using b = await openEtcdNode({ endpoints: etcd.urls, prefix: 'far/', name: 'b' });
    proxy.silence();
    await fill(b, 20, 100, 1_500);
    assert.equal(await comesInFragments(etcd.first.url, 'far/'), true);
    proxy.heal();
    await until('it caught up', () => a.head.index === 21);
    assert.deepEqual(a.breaks, []);
    assert.deepEqual(
      a.commits.map(({ operations }) => operations),
      b.commits.map(({ operations }) => operations),
    );
  });

  test('history compacted while a node was away is a break; a load goes on from there', async () => {
    await using proxy = await startProxy(etcd.first.port);
    await using a = await openEtcdNode({ endpoints: [proxy.url], prefix: 'away/', name: 'a' });
    await using b = await openEtcdNode({ endpoints: etcd.urls, prefix: 'away/', name: 'b' });
    // Its commits are answered before its watch shows them: one that lags behind the compaction is a break as well.
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
    await until('the other one has all, loaded again or not', () => b.head.index === index);
    assert.deepEqual(a.rows, b.rows);
    await b.write(() => [put('more', '1')]);
    await until('it follows again', () => a.rows.get('t/more') === '1');
  });

  test('a revision compacted while it is being loaded is loaded anew', async () => {
    await using b = await openEtcdNode({ endpoints: etcd.urls, prefix: 'load/', name: 'b' });
    for (let at = 0; at < 12; at += 1) {
      await b.write(() => Array.from({ length: 100 }, (_, row) => put(`${at}/${row}`, 'old')));
    }
    let compacted = false;
    // The first page has 1,000 rows; what is asked for a page after it finds its revision gone.
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

  test('rows of store-only tables are not loaded, but scanned, in either direction', async () => {
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

  test('a head of another program version ends the following, and says so when it is loaded', async () => {
    await using a = await openEtcdNode({ endpoints: etcd.urls, prefix: 'new/', name: 'a' });
    const value = Buffer.from(JSON.stringify({ format: 99 })).toString('base64');
    await etcd.call('/v3/kv/put', { key: Buffer.from('new/head').toString('base64'), value });
    await until('the break', () => a.breaks.length === 1);
    await assert.rejects(a.load(), /format 99; this program reads up to 1/);
  });
});
