/** What engine.ts promises, checked on every engine. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  commitSurely,
  type EngineNode,
  openLoadedNode,
  openNode,
  patience,
  put,
  remove,
} from '../../../test/support/state/engine-node.ts';
import type { MakeStore, TestStore } from '../../../test/support/state/store.ts';
import { until } from '../../../test/support/until.ts';
import { isStateError } from '../errors.ts';
import { EPOCH_STEP, type Head, type StoredRow } from './engine.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Keys and values that a store could take for something else. */
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

/** Runs the part of the contract that one engine alone can show; see sharing.suite.ts for several on one store. */
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
    it('is made for an empty store, in the first epoch, at an index that a blocking query can name', async () => {
      await using store = await makeStore();
      await using node = await openNode(store.engine());
      const head = await node.load();
      assert.match(head.cluster, UUID);
      assert.equal(head.epoch, 1);
      assert.ok(head.index >= 1, `0 means "no index" to a client, this is ${head.index}`);
      assert.deepEqual(await node.engine.head(patience()), head);
    });

    it('stays what it was when the store is opened again', async () => {
      await using store = await makeStore();
      const before = await inOneNode(store, async (node) => {
        await node.commit([put('k', 'v')]);
        return node.head();
      });
      const after = await inOneNode(store, async (node) => node.head());
      assert.deepEqual(after, before);
    });

    it('tells a commit from the moment on that it was acknowledged', async () => {
      await using store = await makeStore();
      await using node = await openLoadedNode(store.engine());
      for (let i = 0; i < 5; i++) {
        await node.commit([put('k', String(i))]);
        assert.deepEqual(await node.engine.head(patience()), node.head());
      }
    });
  });
}

function commitSuite(makeStore: MakeStore): void {
  describe('commit', () => {
    it('is delivered once, as own, at the next index, before it is acknowledged', async () => {
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

    it('is found again when the store is opened again', async () => {
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

    it('is not made on another base or epoch, and nothing is delivered', async () => {
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
        assert.equal(await node.engine.commit({ epoch: wrongEpoch, base, operations }, patience()), 'conflict');
      }
      assert.equal(node.commits.length, 1);
      await node.load();
      assert.deepEqual(new Map(node.rows), new Map([['t/k', 'kept']]));
    });

    it('removes keys that are not there without complaint, and moves the index all the same', async () => {
      await using store = await makeStore();
      await using node = await openLoadedNode(store.engine());
      const { index } = node.head();
      assert.equal(await node.commit([remove('never')]), 'committed');
      assert.equal((await node.engine.head(patience())).index, index + 1);
    });

    it('takes as many operations as the engine says', async () => {
      await using store = await makeStore();
      await using node = await openLoadedNode(store.engine());
      const count = Math.min(node.engine.limits.operationsMax, 5_000);
      const operations = Array.from({ length: count }, (_, i) => put(`k${i}`, 'v'));
      assert.equal(await node.commit(operations), 'committed');
      await node.load();
      assert.equal(node.rows.size, count);
    });

    it('takes as many bytes as the engine says', async () => {
      await using store = await makeStore();
      await using node = await openLoadedNode(store.engine());
      const bytes = Math.min(node.engine.limits.bytesMax, 4 * 1024 * 1024);
      const value = 'v'.repeat(bytes - 'tk'.length);
      assert.equal(await node.commit([put('k', value)]), 'committed');
      await node.load();
      assert.equal(node.rows.get('t/k'), value);
    });

    it('keeps keys and values to the letter', async () => {
      await using store = await makeStore();
      await using node = await openLoadedNode(store.engine());
      const pairs = AWKWARD.flatMap((key) => AWKWARD.map((value) => put(key, value)).slice(0, 1));
      await commitSurely(node, pairs);
      await commitSurely(
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
    it('leaves out store-only tables, which scan reads', async () => {
      await using store = await makeStore();
      const settings = { storeOnly: ['log'] };
      await using node = await openLoadedNode(store.engine(), settings);
      await node.commit([put('k', 'v'), put('entry', 'text', 'log')]);
      await node.load();
      assert.deepEqual(new Map(node.rows), new Map([['t/k', 'v']]));
      assert.deepEqual(await node.engine.scan('log', { limit: 10 }, patience()), [
        { table: 'log', key: 'entry', value: 'text' },
      ]);
    });

    it('awaits each page before it sends the next', async () => {
      await using store = await makeStore();
      await using node = await openLoadedNode(store.engine());
      for (let i = 0; i < 12; i++) await commitSurely(node, [put(`k${i}`, 'v'.repeat(900_000))]);
      let inside = 0;
      let rows = 0;
      const page = async (slice: readonly StoredRow[]): Promise<void> => {
        assert.equal(++inside, 1, 'a page was sent while another was worked on');
        rows += slice.length;
        await new Promise((resolve) => setTimeout(resolve, 5));
        inside--;
      };
      await node.engine.load(page, () => assert.fail('nothing made it begin again'), undefined, patience());
      assert.equal(rows, 12);
    });

    it('rejects with what its page threw, and can be called again', async () => {
      await using store = await makeStore();
      await using node = await openLoadedNode(store.engine());
      await node.commit([put('k', 'v')]);
      const error = new Error('no memory left');
      const page = (): Promise<void> => Promise.reject(error);
      await assert.rejects(
        node.engine.load(page, () => undefined, undefined, patience()),
        error,
      );
      await node.load();
      assert.equal(node.rows.get('t/k'), 'v');
    });

    it('reads tables whose names begin alike apart', async () => {
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
        (await node.engine.scan('a', { limit: 9 }, patience())).map((row) => row.key),
        ['b/k', 'k'],
      );
    });
  });
}

function scanSuite(makeStore: MakeStore): void {
  describe('scan', () => {
    it('reads from its first key inclusive to its last exclusive, either way, in the order of bytes', async () => {
      await using store = await makeStore();
      await using node = await openLoadedNode(store.engine());
      // In UTF-16 the last two stand the other way round.
      const keys = ['a', 'a/', 'aa', 'b', 'ä', '\uff5e', '😀'];
      await node.commit(keys.toReversed().map((key) => put(key, `value of ${key}`)));
      const scan = async (range: object): Promise<string[]> =>
        (await node.engine.scan('t', { limit: 100, ...range }, patience())).map(({ key }) => key);
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

    it('reads nothing of a table without rows', async () => {
      await using store = await makeStore();
      await using node = await openLoadedNode(store.engine());
      assert.deepEqual(await node.engine.scan('t', { limit: 10 }, patience()), []);
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
    it('fills an empty store and takes its head over', async () => {
      await using store = await makeStore();
      await inOneNode(
        store,
        async (node) => {
          assert.equal(await node.commit([put('k', 'v')]), 'committed');
          assert.deepEqual(node.head(), { ...head, index: head.index + 1 });
        },
        (node) => node.engine.import(head, pages(rows), patience()),
      );
      await inOneNode(store, async (node) => {
        assert.equal(node.rows.size, rows.length + 1);
        for (const { table, key, value } of rows) assert.equal(node.rows.get(`${table}/${key}`), value);
      });
    });

    it('refuses a store that holds rows, and leaves them', async () => {
      await using store = await makeStore();
      await inOneNode(store, (node) => node.commit([put('k', 'v')]));
      await inOneNode(store, async (node) => assert.deepEqual([...node.rows], [['t/k', 'v']]), importRefused);
    });

    it('refuses a store whose rows were all removed: it has served indexes', async () => {
      await using store = await makeStore();
      await inOneNode(store, async (node) => {
        await node.commit([put('k', 'v')]);
        await node.commit([remove('k')]);
      });
      await inOneNode(store, async (node) => assert.equal(node.rows.size, 0), importRefused);
    });

    it('leaves nothing behind when it fails midway, and can be tried again', async () => {
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
          await assert.rejects(node.engine.import(head, broken(), patience()), damaged);
          await node.engine.import(head, pages([row(0)]), patience());
        },
      );
    });
  });

  async function importRefused(node: EngineNode): Promise<void> {
    await assert.rejects(node.engine.import(head, pages(rows), patience()), (error) =>
      isStateError(error, 'not-empty'),
    );
  }
}

function nodeSuite(makeStore: MakeStore): void {
  describe('node', () => {
    it('is told of itself as a member, with the formats that it reads', async () => {
      await using store = await makeStore();
      await using node = await openLoadedNode(store.engine(), { name: 'n1', formats: { t: 3, u: 1 } });
      await until('it is a member', () => node.members().length === 1);
      const [member] = node.members();
      assert.equal(member?.name, 'n1');
      assert.ok(member?.incarnation !== '');
      assert.deepEqual(member?.formats, { t: 3, u: 1 });
    });

    it('says how long ago the store answered', async () => {
      await using store = await makeStore();
      await using node = await openLoadedNode(store.engine());
      await node.engine.head(patience());
      const ms = node.engine.lastContactMs();
      assert.ok(ms >= 0 && ms < 5_000, `${ms} ms`);
    });

    it('leaves nothing open: the same store is opened, closed and opened again', async () => {
      await using store = await makeStore();
      for (let i = 0; i < 3; i++) {
        const index = await inOneNode(store, async (node) => {
          await node.commit([put('k', String(i))]);
          return node.head().index;
        });
        assert.equal(await inOneNode(store, async (node) => node.head().index), index);
      }
    });

    it('can be closed before it was opened, and twice', async () => {
      await using store = await makeStore();
      await store.engine()[Symbol.asyncDispose]();
      const node = await openLoadedNode(store.engine());
      await node[Symbol.asyncDispose]();
      await node[Symbol.asyncDispose]();
    });
  });
}

/** Opens, prepares, loads, uses, closes. */
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
