/** Tests of the engine contract in `engine.ts` that need two engines on one store. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  commitWithRetries,
  type EngineNode,
  openLoadedNode,
  openNode,
  put,
  testTimeout,
} from '../../../test/support/state/engine-node.ts';
import type { MakeStore } from '../../../test/support/state/store.ts';
import { until } from '../../../test/support/until.ts';
import { isStateError } from '../errors.ts';
import { EPOCH_STEP } from './engine.ts';

/** Defines the tests for a store that several engines share. */
export function sharedEngineContract(name: string, makeStore: MakeStore): void {
  describe(`second engine ${name} on a store`, { timeout: 120_000 }, () => {
    commitSuite(makeStore);
    loadSuite(makeStore);
    liveNodesSuite(makeStore);
  });
}

function commitSuite(makeStore: MakeStore): void {
  it('receives every commit of the first in order and as foreign, and reads its head at once', async () => {
    await using store = await makeStore();
    await using first = await openLoadedNode(store.engine(), { name: 'a' });
    await using second = await openLoadedNode(store.engine(), { name: 'b' });
    const begun = first.head();
    for (let i = 0; i < 20; i++) {
      await first.commit([put('k', String(i)), put(`k${i}`, 'v')]);
      assert.deepEqual(await second.engine.head(testTimeout()), first.head());
    }
    await until('the second has received all commits', () => second.commits.length === 20);
    assert.deepEqual(
      second.commits,
      first.commits.map((change) => ({ ...change, own: false })),
    );
    assert.equal(second.commits[0]?.index, begun.index + 1);
    assert.deepEqual(second.rows, first.rows);
  });

  it('gets a conflict if it loses a race, and both engines receive only the winning commit [ETCD-24]', async () => {
    await using store = await makeStore();
    await using first = await openLoadedNode(store.engine(), { name: 'a' });
    await using second = await openLoadedNode(store.engine(), { name: 'b' });
    const base = first.head().index;
    for (let round = 1; round <= 30; round++) {
      const results = await Promise.all(
        [first, second].map((node) => node.commit([put(`by ${node.name}`, String(round)), put('last', node.name)])),
      );
      assert.deepEqual(results.toSorted(), ['committed', 'conflict']);
      await until('both have received it', () => [first, second].every((node) => node.head().index === base + round));
    }
    const indexes = (node: EngineNode): number[] => node.commits.map(({ index }) => index);
    assert.deepEqual(
      indexes(first),
      Array.from({ length: 30 }, (_, i) => base + 1 + i),
    );
    assert.deepEqual(indexes(second), indexes(first));
    assert.deepEqual(second.rows, first.rows);
    const own = [...first.commits, ...second.commits].filter((change) => change.own);
    assert.equal(own.length, 30, 'each commit is own to exactly one');
  });
}

function loadSuite(makeStore: MakeStore): void {
  it('loads one consistent state while the first commits, and continues without a gap [STATE-107]', async () => {
    await using store = await makeStore();
    await using first = await openLoadedNode(store.engine(), { name: 'a' });
    await commitWithRetries(
      first,
      Array.from({ length: 100 }, (_, i) => put(`k${i}`, '0')),
    );
    let stop = false;
    const writing = (async () => {
      // Each commit moves one unit from one key to the next, so every state has the same sum.
      for (let i = 0; !stop; i = (i + 1) % 99) {
        const value = (key: string): number => Number(first.rows.get(`t/${key}`));
        const taken = put(`k${i}`, String(value(`k${i}`) - 1));
        await first.commit([taken, put(`k${i + 1}`, String(value(`k${i + 1}`) + 1))]);
      }
    })();
    await using second = await openNode(store.engine(), { name: 'b' });
    for (let load = 0; load < 5; load++) {
      const { index } = await second.load();
      const sum = [...second.rows.values()].reduce((total, value) => total + Number(value), 0);
      assert.equal(sum, 0);
      await until('it follows', () => second.commits.length > 5);
      const delivered = second.commits.map((change) => change.index);
      assert.deepEqual(
        delivered,
        delivered.map((_, i) => index + 1 + i),
      );
    }
    stop = true;
    await writing;
    await until('it has caught up', () => second.head().index === first.head().index);
    assert.deepEqual(second.rows, first.rows);
    assert.deepEqual(second.breaks, []);
  });

  it('loads a store behind its floor in a new epoch, with an index above the floor [STATE-16] [STATE-15]', async () => {
    await using store = await makeStore();
    await using node = await openLoadedNode(store.engine());
    await node.commit([put('k', 'v')]);
    const { cluster, epoch, index } = node.head();
    const floor = { cluster, epoch, index: index + 1_000 };
    const head = await node.load(floor);
    assert.ok(head.epoch > epoch);
    assert.ok(head.index >= floor.index + EPOCH_STEP, `${head.index}`);
    assert.equal(node.rows.get('t/k'), 'v');
    assert.deepEqual(await node.load(head), head, 'a store that is not behind stays unchanged');
    assert.equal(await node.commit([put('k', 'w')]), 'committed');
  });
}

function liveNodesSuite(makeStore: MakeStore): void {
  it('is a live node while it is open [STATE-89]', async () => {
    await using store = await makeStore();
    await using first = await openLoadedNode(store.engine(), { name: 'a' });
    const names = (): string[] =>
      first
        .liveNodes()
        .map((node) => node.name)
        .toSorted();
    const second = await openLoadedNode(store.engine(), { name: 'b' });
    await until('both are live', () => names().length === 2);
    assert.deepEqual(names(), ['a', 'b']);
    await until('the second knows the first', () => second.liveNodes().length === 2);
    await second[Symbol.asyncDispose]();
    await until('the second is gone', () => names().length === 1);
    assert.deepEqual(names(), ['a']);
  });

  it('fails with name-taken under the name of a live node, which stays live [ETCD-68]', async () => {
    await using store = await makeStore();
    // The first lease outlasts the wait of the second engine.
    await using first = await openLoadedNode(store.engine({ leaseMs: 60_000 }), { name: 'same' });
    const second = store.engine({ leaseMs: 2_000 });
    await assert.rejects(
      openNode(second, { name: 'same' }),
      (error) => isStateError(error, 'name-taken') && error.message.includes('same'),
    );
    await second[Symbol.asyncDispose]();
    assert.equal(await first.commit([put('k', 'v')]), 'committed');
    assert.deepEqual(first.fatal, []);
  });

  // Verifies [STATE-11].
  it('receives the status rows of the first, and their removal when the first closes [STATE-90]', async () => {
    await using store = await makeStore();
    const first = await openLoadedNode(store.engine(), { name: 'a' });
    first.engine.publish('slot/1', '"early"');
    first.engine.publish('slot/2', '{"x":1}');
    const { index } = first.head();
    await using second = await openLoadedNode(store.engine(), { name: 'b' });
    await until('both rows are received', () => second.statuses.size === 2);
    assert.deepEqual(
      new Map(second.statuses),
      new Map([
        ['a/slot/1', '"early"'],
        ['a/slot/2', '{"x":1}'],
      ]),
    );
    assert.equal(first.statuses.size, 0, 'own rows are not reported');
    assert.equal((await second.engine.head(testTimeout())).index, index, 'status rows do not advance the index');
    await first[Symbol.asyncDispose]();
    await until('the rows are removed with their node', () => second.statuses.size === 0);
  });
}
