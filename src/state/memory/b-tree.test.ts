import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { BTree } from './b-tree.ts';

const byCodeUnit = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const content = <Value>(tree: BTree<Value>): (readonly [string, Value])[] => [...tree.entries()];
const sorted = <Value>(map: ReadonlyMap<string, Value>): (readonly [string, Value])[] =>
  [...map].sort(([a], [b]) => byCodeUnit(a, b));

/** Few enough for repeated keys, and enough for a tree of three levels. */
const KEYS_MAX = 3_000;
const numbered = (number: number): string => `key-${String(number).padStart(6, '0')}`;

/** A tree and a map with the content that the tree should have. */
interface Pair {
  readonly tree: BTree<number>;
  readonly model: Map<string, number>;
}

function assertSame({ tree, model }: Pair, what: string): void {
  assert.deepEqual(content(tree), sorted(model), what);
  assert.equal(tree.size, model.size, what);
  assert.equal(tree.minKey(), sorted(model)[0]?.[0], what);
}

/** Runs of neighboring keys as well as scattered ones, so that nodes grow, shrink, and split in different places. */
const someKeys = fc.oneof(
  fc.array(fc.oneof(fc.string(), fc.constantFrom('', '\uffff', '😀', 'é')), { maxLength: 3 }),
  fc
    .record({ from: fc.nat(KEYS_MAX), count: fc.nat(400), step: fc.integer({ min: 1, max: 7 }) })
    .map(({ from, count, step }) => Array.from({ length: count }, (_, i) => numbered(from + i * step))),
);
const change = fc.record({ on: fc.nat(9), kind: fc.constantFrom('set', 'delete', 'clone'), keys: someKeys });

function apply({ tree, model }: Pair, kind: string, keys: readonly string[]): void {
  for (const [i, key] of keys.entries()) {
    if (kind === 'delete') {
      assert.equal(tree.delete(key), model.delete(key), `result of deleting ${JSON.stringify(key)}`);
    } else {
      tree.set(key, i);
      model.set(key, i);
    }
  }
}

describe('BTree', () => {
  it('has the same content as a map after any changes, also when clones change', () => {
    fc.assert(
      fc.property(fc.array(change, { maxLength: 60 }), (changes) => {
        const pairs: Pair[] = [{ tree: BTree.empty(), model: new Map() }];
        for (const { on, kind, keys } of changes) {
          const pair = pairs[on % pairs.length] as Pair;
          if (kind === 'clone') pairs.push({ tree: pair.tree.clone(), model: new Map(pair.model) });
          else apply(pair, kind, keys);
        }
        for (const [i, pair] of pairs.entries()) assertSame(pair, `tree ${i}`);
      }),
    );
  });

  it('behaves the same when loaded in bulk', () => {
    for (const count of [0, 1, 27, 28, 29, 56, 57, 784, 785, 5_000]) {
      const keys = Array.from({ length: count }, (_, i) => numbered(i));
      const pair = {
        tree: BTree.load(
          keys,
          keys.map((_, i) => i),
        ),
        model: new Map(keys.map((key, i) => [key, i])),
      };
      assertSame(pair, `${count} keys`);
      for (let i = 0; i < count; i += 3) {
        pair.tree.set(`${numbered(i)}+`, i);
        pair.model.set(`${numbered(i)}+`, i);
        assert.equal(pair.tree.delete(numbered(i)), pair.model.delete(numbered(i)));
      }
      assertSame(pair, `${count} keys, changed`);
    }
  });

  it('finds existing keys only', () => {
    const tree = BTree.empty<number>();
    for (let i = 0; i < 2_000; i++) tree.set(numbered(((i * 7_919) % 2_000) * 2), i);
    for (let i = 0; i < 4_000; i++) assert.equal(tree.has(numbered(i)), i % 2 === 0, numbered(i));
    assert.equal(tree.get(''), undefined);
    assert.equal(tree.get('zzz'), undefined);
  });

  it('iterates from any start key, existing or missing', () => {
    const keys = Array.from({ length: 1_500 }, (_, i) => numbered(i * 2));
    const tree = BTree.load(keys, keys);
    for (let i = 0; i < 3_000; i += 7) {
      const [first] = tree.entries(numbered(i));
      const next = keys[Math.ceil(i / 2)];
      assert.deepEqual(first, [next, next], numbered(i));
    }
    assert.deepEqual([...tree.entries('zzz')], []);
    assert.equal([...tree.entries(numbered(1_000))].length, 1_000);
  });

  it('is empty after every key was deleted, and accepts keys again', () => {
    for (const order of [(i: number) => i, (i: number) => 4_999 - i, (i: number) => (i * 7_919) % 5_000]) {
      const tree = BTree.empty<number>();
      for (let i = 0; i < 5_000; i++) tree.set(numbered(i), i);
      for (let i = 0; i < 4_000; i++) assert.equal(tree.delete(numbered(order(i))), true);
      for (let i = 0; i < 5_000; i++) assert.equal(tree.has(numbered(order(i))), i >= 4_000);
      for (let i = 4_000; i < 5_000; i++) assert.equal(tree.delete(numbered(order(i))), true);
      assert.deepEqual([tree.size, tree.minKey(), content(tree)], [0, undefined, []]);
      tree.set('again', 1);
      assert.deepEqual(content(tree), [['again', 1]]);
    }
  });
});
