/** Tests of commit fairness between nodes, one of which is farther from etcd than the others. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Clock, systemClock } from '../../src/state/clock/clock.ts';
import { TICKET_WAIT_MS } from '../../src/state/engine/etcd/limits.ts';
import { startEtcd } from '../support/process/etcd.ts';
import { startProxy } from '../support/proxy.ts';
import { type EtcdNode, openEtcdNode, put } from '../support/state/etcd-node.ts';
import { skipWithout } from '../support/tools.ts';
import { until } from '../support/until.ts';

/** How long the nodes compete. */
const CONTENTION_MS = 3_000;

/** Increments one counter repeatedly until a time. Returns the duration of each increment, sorted. */
async function increment(node: EtcdNode, until: number): Promise<number[]> {
  const tookMs: number[] = [];
  while (Date.now() < until) {
    const startedAt = performance.now();
    await node.write((rows) => [put('n', String(Number(rows.get('t/n') ?? 0) + 1))]);
    tookMs.push(performance.now() - startedAt);
  }
  return tookMs.sort((one, other) => one - other);
}

describe('fairness on etcd', { skip: skipWithout('etcd'), timeout: 60_000 }, () => {
  for (const delayMs of [1, 3]) {
    // Verifies [ETCD-39] [ETCD-40].
    test(`a node with ${delayMs} ms more latency commits its share, and no increment is lost`, async (context) => {
      await using etcd = await startEtcd();
      await using proxy = await startProxy(etcd.first.port);
      proxy.delay(delayMs);
      await using a = await openEtcdNode({ endpoints: etcd.urls, name: 'a' });
      await using b = await openEtcdNode({ endpoints: etcd.urls, name: 'b' });
      await using far = await openEtcdNode({ endpoints: [proxy.url], name: 'far' });
      const nodes = [a, b, far];
      const end = Date.now() + CONTENTION_MS;
      const took = await Promise.all(nodes.map((node) => increment(node, end)));
      const counts = took.map(({ length }) => length);
      const total = counts.reduce((sum, count) => sum + count);
      for (const [at, times] of took.entries()) {
        const p99 = times[Math.floor(times.length * 0.99)]?.toFixed(1);
        context.diagnostic(`${['a', 'b', 'far'][at]}: ${times.length} commits, p99 ${p99} ms`);
      }
      await until('all nodes have all commits', () => nodes.every(({ head }) => head.index === total + 1));
      for (const { rows } of nodes) assert.equal(rows.get('t/n'), String(total));
      // Without tickets the far node commits nothing. With tickets it commits once for every few commits of the others.
      assert.ok(Math.min(...counts) * 20 > total, `the shares are ${counts.join(', ')}`);
    });
  }

  test('an unused ticket delays the other node only once [ETCD-41]', async () => {
    let waits = 0;
    // Counts the waits for a ticket by their length, because the duration of 20 commits depends on the disk.
    const clock: Clock = {
      ...systemClock,
      after(ms, callback) {
        if (ms > 0.9 * TICKET_WAIT_MS && ms <= TICKET_WAIT_MS) waits += 1;
        return systemClock.after(ms, callback);
      },
    };
    await using etcd = await startEtcd();
    await using a = await openEtcdNode({ endpoints: etcd.urls, name: 'a', clock });
    await using b = await openEtcdNode({ endpoints: etcd.urls, name: 'b', clock });
    // The loser puts a ticket and does not commit again.
    const outcomes = await Promise.all([a, b].map((node) => node.commit([put('x', '1')])));
    assert.deepEqual([...outcomes].sort(), ['committed', 'conflict']);
    const winner = outcomes[0] === 'committed' ? a : b;
    for (let count = 0; count < 20; count += 1) await winner.write(() => [put('x', `${count}`)]);
    assert.ok(waits < 5, `${waits} waits in 20 commits`);
  });

  test('a reserved turn delays the commits of other nodes until it is released [ETCD-92]', async () => {
    await using etcd = await startEtcd();
    await using a = await openEtcdNode({ endpoints: etcd.urls, name: 'a' });
    await using b = await openEtcdNode({ endpoints: etcd.urls, name: 'b' });
    const base64 = (text: string): string => Buffer.from(text).toString('base64');
    const isReserved = async (): Promise<boolean> =>
      (await etcd.call('/v3/kv/range', { key: base64('accord/turn/a') }))['kvs'] !== undefined;
    const release = new AbortController();
    a.engine.reserve?.(release.signal);
    await until('the ticket is put', isReserved);
    // A commit that waits for an ordinary ticket is made sooner.
    await until('the other node knows the ticket', async () => {
      const startedAt = performance.now();
      const timer = setTimeout(() => release.abort(), 3 * TICKET_WAIT_MS);
      await b.write(() => [put('x', '1')]);
      clearTimeout(timer);
      return performance.now() - startedAt >= 2 * TICKET_WAIT_MS;
    });
    release.abort();
    await until('the ticket is removed', async () => !(await isReserved()));
    await b.write(() => [put('x', '2')]);
  });
});
