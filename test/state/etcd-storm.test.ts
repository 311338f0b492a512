/** Three nodes write the same keys while their links to etcd fail at random, reproducible by a seed. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { startEtcd } from '../support/process/etcd.ts';
import { type FaultProxy, startProxy } from '../support/proxy.ts';
import { type EtcdNode, openEtcdNode, put } from '../support/state/etcd-node.ts';
import { skipWithout } from '../support/tools.ts';
import { until } from '../support/until.ts';

const STORM_MS = 8_000;
const SEED = 20_261_121;

/** Returns a generator of numbers from 0 to 1 for a seed (mulberry32). */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Injects one fault after another: cut connections, lost responses, silent connections. */
async function storm(proxy: FaultProxy, random: () => number, end: number): Promise<void> {
  while (Date.now() < end) {
    await delay(random() * 300);
    const kind = random();
    if (kind < 0.4) {
      proxy.cut();
    } else if (kind < 0.8) {
      proxy.filterAnswers(() => 'drop');
      await delay(random() * 200);
      proxy.filterAnswers(undefined);
      proxy.cut();
    } else {
      proxy.silence();
      await delay(random() * 600);
      proxy.heal();
    }
  }
  proxy.heal();
}

/** Increments a shared and an own counter until a time. Returns the number of acknowledged increments. */
async function increment(node: EtcdNode, name: string, end: number): Promise<number> {
  let acknowledged = 0;
  while (Date.now() < end) {
    await node.write((rows) => [
      put('shared', String(Number(rows.get('t/shared') ?? 0) + 1)),
      put(name, String(Number(rows.get(`t/${name}`) ?? 0) + 1)),
    ]);
    acknowledged += 1;
  }
  return acknowledged;
}

describe('a storm of faults between nodes and etcd', { skip: skipWithout('etcd'), timeout: 90_000 }, () => {
  test('every acknowledged write takes effect once, in the same order on every node', async (context) => {
    context.diagnostic(`seed ${SEED}`);
    await using etcd = await startEtcd();
    await using stack = new AsyncDisposableStack();
    const names = ['a', 'b', 'c'];
    const proxies = await Promise.all(names.map(async () => stack.use(await startProxy(etcd.first.port))));
    const nodes = await Promise.all(
      proxies.map(async ({ url }, at) => stack.use(await openEtcdNode({ endpoints: [url], name: names[at] ?? '' }))),
    );
    const end = Date.now() + STORM_MS;
    const [acknowledged] = await Promise.all([
      Promise.all(nodes.map((node, at) => increment(node, names[at] ?? '', end))),
      ...proxies.map((proxy, at) => storm(proxy, randomNumbers(SEED + at), end)),
    ]);
    const total = acknowledged.reduce((sum, count) => sum + count);
    context.diagnostic(`acknowledged: ${acknowledged.join(', ')}`);
    await until('all nodes have all commits', () => nodes.every(({ head }) => head.index === total + 1), 20_000);
    const expected = new Map([
      ['t/shared', String(total)],
      ...names.map((name, at) => [`t/${name}`, String(acknowledged[at])] as const),
    ]);
    for (const node of nodes) {
      assert.deepEqual(new Map([...node.rows].sort()), new Map([...expected].sort()));
      assert.deepEqual(node.breaks, []);
      assert.equal(node.fatal, undefined);
    }
    assert.ok(Math.min(...acknowledged) > 0);
  });
});
