/** Tests of the engine contract in `engine.ts` that need one engine; every engine runs them [STATE-100]. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  commitWithRetries,
  type EngineNode,
  openLoadedNode,
  openNode,
  put,
  remove,
  testTimeout,
} from '../../../test/support/state/engine-node.ts';
import type { MakeStore, TestStore } from '../../../test/support/state/store.ts';
import { until } from '../../../test/support/until.ts';
import { isStateError } from '../errors.ts';
import { EPOCH_STEP, type Head, type StoredRow } from './engine.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Keys and values that a store could misinterpret. */
const AWKWARD = [
  'a/b',
  'a//b',
  '/',
  '%2F',
  ' ',
  "'",
  '"',
  '\\',
  'a%',
  '_',
  '\u007f',
  'ä',
  '漢字',
  '😀',
  '\uffff',
  '~',
  'null',
];

/** Defines the tests for one engine on a store. `shared-store.suite.ts` has those for several engines. */
export function engineContract(name: string, makeStore: MakeStore): void {
  describe(`engine ${name}`, { timeout: 120_000 }, () => {
    headSuite(makeStore);
    commitSuite(makeStore);
    loadSuite(makeStore);
    scanSuite(makeStore);
    importSuite(makeStore);
    nodeSuite(makeStore);
  });
}

function headSuite(makeStore: MakeStore): void {
  describe('head', () => {
    // Verifies [SQLITE-18] [ETCD-21].
    it('is created for an empty store in epoch 1 with an index above 0 [STATE-12] [STATE-11] [STATE-101]', async () => {
      await using store = await makeStore();
      await using node = await openNode(store.engine());
      const head = await node.load();
      assert.match(head.cluster, UUID);
      assert.equal(head.epoch, 1);
      assert.ok(head.index >= 1, `0 means "no index" to a client, this is ${head.index}`);
      assert.deepEqual(await node.engine.head(testTimeout()), head);
    });

    it('is unchanged after the store is opened again', async () => {
      await using store = await makeStore();
      const before = await inOneNode(store, async (node) => {
        await node.commit([put('k', 'v')]);
        return node.head();
      });
      const after = await inOneNode(store, async (node) => node.head());
      assert.deepEqual(after, before);
    });

    it('contains a commit as soon as it is acknowledged [STATE-105]', async () => {
      await using store = await makeStore();
      await using node = await openLoadedNode(store.engine());
      for (let i = 0; i < 5; i++) {
        await node.commit([put('k', String(i))]);
        assert.deepEqual(await node.engine.head(testTimeout()), node.head());
      }
    });
  });
}

function commitSuite(makeStore: MakeStore): void {
  describe('commit', () => {
    // Verifies [SQLITE-29].
    it('is delivered once, as own, at the next index, before it is acknowledged [STATE-104] [STATE-13]', async () => {
      await using store = await makeStore();
      await using node = await openLoadedNode(store.engine());
      const { index } = node.head();
      for (let i = 1; i <= 20; i++) {
        const operations = [put(`k${i}`, `v${i}`), remove(`k${i - 1}`)];
        assert.equal(await node.commit(operations), 'committed');
        assert.equal(node.commits.length, i);
        assert.deepEqual(node.commits.at(-1), { index: index + i, operations, own: true });
      }
      assert.deepEqual(node.breaks, []);
    });

    it('is durable after the store is opened again [STATE-102]', async () => {
      await using store = await makeStore();
      const rows = await inOneNode(store, async (node) => {
        await node.commit([put('stays', '1'), put('goes', '2'), put('changes', '3')]);
        await node.commit([remove('goes'), put('changes', '4')]);
        return new Map(node.rows);
      });
      assert.deepEqual(
        rows,
        new Map([
          ['t/stays', '1'],
          ['t/changes', '4'],
        ]),
      );
      assert.deepEqual(await inOneNode(store, async (node) => new Map(node.rows)), rows);
    });

    // Verifies [SQLITE-28].
    it('returns conflict and delivers no commit on another base or epoch [STATE-102] [SQLITE-27]', async () => {
      await using store = await makeStore();
      await using node = await openLoadedNode(store.engine());
      await node.commit([put('k', 'kept')]);
      const { epoch, index } = node.head();
      const operations = [put('k', 'lost'), put('new', 'lost')];
      for (const [wrongEpoch, base] of [
        [epoch, index - 1],
        [epoch, index + 1],
        [epoch + 1, index],
        [epoch - 1, index],
      ] as const) {
        assert.equal(await node.engine.commit({ epoch: wrongEpoch, base, operations }, testTimeout()), 'conflict');
      }
      assert.equal(node.commits.length, 1);
      await node.load();
      assert.deepEqual(new Map(node.rows), new Map([['t/k', 'kept']]));
    });

    it('accepts the removal of a missing key and advances the index [STATE-108]', async () => {
      await using store = await makeStore();
      await using node = await openLoadedNode(store.engine());
      const { index } = node.head();
      assert.equal(await node.commit([remove('never')]), 'committed');
      assert.equal((await node.engine.head(testTimeout())).index, index + 1);
    });

    it('accepts `operationsMax` operations', async () => {
      await using store = await makeStore();
      await using node = await openLoadedNode(store.engine());
      const count = Math.min(node.engine.limits.operationsMax, 5_000);
      const operations = Array.from({ length: count }, (_, i) => put(`k${i}`, 'v'));
      assert.equal(await node.commit(operations), 'committed');
      await node.load();
      assert.equal(node.rows.size, count);
    });

    it('accepts `bytesMax` bytes', async () => {
      await using store = await makeStore();
      await using node = await openLoadedNode(store.engine());
      const bytes = Math.min(node.engine.limits.bytesMax, 4 * 1024 * 1024);
      const value = 'v'.repeat(bytes - 'tk'.length);
      assert.equal(await node.commit([put('k', value)]), 'committed');
      await node.load();
      assert.equal(node.rows.get('t/k'), value);
    });

    it('stores keys and values byte for byte [STATE-108]', async () => {
      await using store = await makeStore();
      await using node = await openLoadedNode(store.engine());
      const pairs = AWKWARD.flatMap((key) => AWKWARD.map((value) => put(key, value)).slice(0, 1));
      await commitWithRetries(node, pairs);
      await commitWithRetries(
        node,
        AWKWARD.map((text) => put(`value of ${text}`, text)),
      );
      const expected = new Map(node.rows);
      assert.equal(expected.size, 2 * AWKWARD.length);
      await node.load();
      assert.deepEqual(new Map(node.rows), expected);
    });
  });
}

function loadSuite(makeStore: MakeStore): void {
  describe('load', () => {
    it('skips store-only tables, which scan reads [STATE-24] [SQLITE-38]', async () => {
      await using store = await makeStore();
      const settings = { storeOnly: ['log'] };
      await using node = await openLoadedNode(store.engine(), settings);
      await node.commit([put('k', 'v'), put('entry', 'text', 'log')]);
      await node.load();
      assert.deepEqual(new Map(node.rows), new Map([['t/k', 'v']]));
      assert.deepEqual(await node.engine.scan('log', { limit: 10 }, testTimeout()), [
        { table: 'log', key: 'entry', value: 'text' },
      ]);
    });

    it('awaits each page before it sends the next [STATE-107]', async () => {
      await using store = await makeStore();
      await using node = await openLoadedNode(store.engine());
      for (let i = 0; i < 12; i++) await commitWithRetries(node, [put(`k${i}`, 'v'.repeat(900_000))]);
      let inside = 0;
      let rows = 0;
      const page = async (slice: readonly StoredRow[]): Promise<void> => {
        assert.equal(++inside, 1, 'a page was sent while another was processed');
        rows += slice.length;
        await new Promise((resolve) => setTimeout(resolve, 5));
        inside--;
      };
      await node.engine.load(page, () => assert.fail('the load restarted without a reason'), undefined, testTimeout());
      assert.equal(rows, 12);
    });

    it('rejects with the error of its page callback, and can be called again', async () => {
      await using store = await makeStore();
      await using node = await openLoadedNode(store.engine());
      await node.commit([put('k', 'v')]);
      const error = new Error('no memory left');
      const page = (): Promise<void> => Promise.reject(error);
      await assert.rejects(
        node.engine.load(page, () => undefined, undefined, testTimeout()),
        error,
      );
      await node.load();
      assert.equal(node.rows.get('t/k'), 'v');
    });

    it('distinguishes tables whose names start with the same text', async () => {
      await using store = await makeStore();
      await using node = await openLoadedNode(store.engine());
      await node.commit([put('k', '1', 'a'), put('k', '2', 'ab'), put('k', '3', 'a-b'), put('b/k', '4', 'a')]);
      await node.load();
      assert.deepEqual(
        new Map(node.rows),
        new Map([
          ['a/k', '1'],
          ['ab/k', '2'],
          ['a-b/k', '3'],
          ['a/b/k', '4'],
        ]),
      );
      assert.deepEqual(
        (await node.engine.scan('a', { limit: 9 }, testTimeout())).map((row) => row.key),
        ['b/k', 'k'],
      );
    });
  });
}

function scanSuite(makeStore: MakeStore): void {
  describe('scan', () => {
    // Verifies [STATE-22] [SQLITE-39].
    it('reads a range in byte order, forward or reverse, start inclusive and end exclusive [STATE-61]', async () => {
      await using store = await makeStore();
      await using node = await openLoadedNode(store.engine());
      // The last two are in the reverse order in UTF-16.
      const keys = ['a', 'a/', 'aa', 'b', 'ä', '\uff5e', '😀'];
      await node.commit(keys.toReversed().map((key) => put(key, `value of ${key}`)));
      const scan = async (range: object): Promise<string[]> =>
        (await node.engine.scan('t', { limit: 100, ...range }, testTimeout())).map(({ key }) => key);
      assert.deepEqual(await scan({}), keys);
      assert.deepEqual(await scan({ reverse: true }), keys.toReversed());
      assert.deepEqual(await scan({ from: 'a/', to: 'b' }), ['a/', 'aa']);
      assert.deepEqual(await scan({ from: 'a/', to: 'b', reverse: true }), ['aa', 'a/']);
      assert.deepEqual(await scan({ from: 'aaa' }), ['b', 'ä', '\uff5e', '😀']);
      assert.deepEqual(await scan({ to: 'a' }), []);
      assert.deepEqual(await scan({ limit: 2 }), ['a', 'a/']);
      assert.deepEqual(await scan({ limit: 2, reverse: true }), ['😀', '\uff5e']);
      assert.deepEqual(await scan({ from: 'b', to: 'a' }), []);
    });

    it('returns an empty array for a table without rows', async () => {
      await using store = await makeStore();
      await using node = await openLoadedNode(store.engine());
      assert.deepEqual(await node.engine.scan('t', { limit: 10 }, testTimeout()), []);
    });
  });
}

function importSuite(makeStore: MakeStore): void {
  const head: Head = { cluster: '11111111-2222-3333-4444-555555555555', epoch: 7, index: 12 + EPOCH_STEP };
  const row = (i: number): StoredRow => ({ table: i % 2 === 0 ? 'even' : 'odd', key: `k${i}`, value: `v${i}` });
  const rows = Array.from({ length: 700 }, (_, i) => row(i));
  async function* pages(all: readonly StoredRow[], size = 300): AsyncGenerator<StoredRow[]> {
    for (let i = 0; i < all.length; i += size) yield all.slice(i, i + size);
  }

  describe('import', () => {
    it('fills an empty store and sets its head', async () => {
      await using store = await makeStore();
      await inOneNode(
        store,
        async (node) => {
          assert.equal(await node.commit([put('k', 'v')]), 'committed');
          assert.deepEqual(node.head(), { ...head, index: head.index + 1 });
        },
        (node) => node.engine.import(head, pages(rows), testTimeout()),
      );
      await inOneNode(store, async (node) => {
        assert.equal(node.rows.size, rows.length + 1);
        for (const { table, key, value } of rows) assert.equal(node.rows.get(`${table}/${key}`), value);
      });
    });

    it('fails with not-empty on a store with rows, and keeps them', async () => {
      await using store = await makeStore();
      await inOneNode(store, (node) => node.commit([put('k', 'v')]));
      await inOneNode(store, async (node) => assert.deepEqual([...node.rows], [['t/k', 'v']]), assertImportFails);
    });

    it('fails with not-empty on a store whose rows were all removed [STATE-97] [SQLITE-41]', async () => {
      await using store = await makeStore();
      await inOneNode(store, async (node) => {
        await node.commit([put('k', 'v')]);
        await node.commit([remove('k')]);
      });
      await inOneNode(store, async (node) => assert.equal(node.rows.size, 0), assertImportFails);
    });

    it('leaves the store empty after a failure, and can be repeated [STATE-98] [SQLITE-40]', async () => {
      await using store = await makeStore();
      const damaged = new Error('the checksum does not match');
      async function* broken(): AsyncGenerator<StoredRow[]> {
        yield* pages(rows);
        throw damaged;
      }
      await inOneNode(
        store,
        async (node) => {
          assert.equal(node.rows.size, 1);
          assert.deepEqual(node.head(), head);
        },
        async (node) => {
          await assert.rejects(node.engine.import(head, broken(), testTimeout()), damaged);
          await node.engine.import(head, pages([row(0)]), testTimeout());
        },
      );
    });
  });

  async function assertImportFails(node: EngineNode): Promise<void> {
    await assert.rejects(node.engine.import(head, pages(rows), testTimeout()), (error) =>
      isStateError(error, 'not-empty'),
    );
  }
}

function nodeSuite(makeStore: MakeStore): void {
  describe('node', () => {
    // Verifies [SQLITE-42].
    it('receives itself as a live node [STATE-89] [STATE-101]', async () => {
      await using store = await makeStore();
      await using node = await openLoadedNode(store.engine(), { name: 'n1' });
      await until('it is a live node', () => node.liveNodes().length === 1);
      const [self] = node.liveNodes();
      assert.equal(self?.name, 'n1');
      assert.ok(self?.incarnation !== '');
    });

    it('reports the time since the store last answered', async () => {
      await using store = await makeStore();
      await using node = await openLoadedNode(store.engine());
      await node.engine.head(testTimeout());
      const ms = node.engine.lastContactMs();
      assert.ok(ms >= 0 && ms < 5_000, `${ms} ms`);
    });

    it('can open the same store again after it was closed [STATE-109] [SQLITE-44]', async () => {
      await using store = await makeStore();
      for (let i = 0; i < 3; i++) {
        const index = await inOneNode(store, async (node) => {
          await node.commit([put('k', String(i))]);
          return node.head().index;
        });
        assert.equal(await inOneNode(store, async (node) => node.head().index), index);
      }
    });

    it('can be closed before it was opened, and twice [STATE-109]', async () => {
      await using store = await makeStore();
      await store.engine()[Symbol.asyncDispose]();
      const node = await openLoadedNode(store.engine());
      await node[Symbol.asyncDispose]();
      await node[Symbol.asyncDispose]();
    });
  });
}

/** Runs `use` on a loaded engine and closes it. `prepare` runs before the load. */
async function inOneNode<T>(
  store: TestStore,
  use: (node: EngineNode) => Promise<T>,
  prepare?: (node: EngineNode) => Promise<void>,
): Promise<T> {
  await using node = await openNode(store.engine());
  await prepare?.(node);
  await node.load();
  return await use(node);
}
