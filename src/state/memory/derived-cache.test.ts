import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DERIVED_CACHE_BYTES_MAX, DERIVED_VALUE_BYTES, DERIVED_VALUE_SHARE_MAX } from '../limits.ts';
import { DerivedCache, derivedFrom, derivedFromBoth } from './derived-cache.ts';

const MEBIBYTE = 1024 * 1024;

describe('DerivedCache', () => {
  const cacheWithLog = () => {
    const cache = new DerivedCache();
    /** The keys of the values that were not cached, since the last call of `taken`. */
    let made: string[] = [];
    return {
      cache,
      /** Gets a value that takes `bytes`, overhead included. */
      get(owner: object, key: string, bytes: number): void {
        const make = (): string => {
          made.push(key);
          return `of ${key}`;
        };
        assert.equal(
          cache.get(owner, key, make, () => bytes - DERIVED_VALUE_BYTES - 2 * key.length),
          `of ${key}`,
        );
      },
      taken(): string {
        const keys = made.join(' ');
        made = [];
        return keys;
      },
    };
  };
  const snapshot = {};
  const table = {};

  it('keeps the values of equal keys apart if their owners differ', () => {
    const cache = new DerivedCache();
    const get = (owner: object, value: string): string =>
      cache.get(
        owner,
        'key',
        () => value,
        () => 0,
      );
    assert.deepEqual([get(snapshot, 'a'), get(table, 'b'), get(snapshot, 'c'), get(table, 'd')], ['a', 'b', 'a', 'b']);
  });

  it('caches nothing if the value cannot be computed', () => {
    const { get, taken, cache } = cacheWithLog();
    const fail = (): never => {
      throw new Error('not computed');
    };
    assert.throws(() => cache.get(snapshot, 'a', fail, () => 0), /not computed/);
    get(snapshot, 'a', 1_000);
    assert.equal(taken(), 'a');
  });

  it('evicts the least recently used values of all owners beyond one budget [STATE-62]', () => {
    const { get, taken } = cacheWithLog();
    const bytes = DERIVED_CACHE_BYTES_MAX / 4;
    get(table, 'a', bytes);
    for (const key of ['b', 'c']) get(snapshot, key, bytes);
    get({}, 'd', bytes);
    get(table, 'a', bytes);
    assert.equal(taken(), 'a b c d');
    get(snapshot, 'e', bytes);
    get(table, 'a', bytes);
    get(snapshot, 'c', bytes);
    assert.equal(taken(), 'e');
    get(snapshot, 'b', bytes);
    assert.equal(taken(), 'b');
  });

  it('counts the key and the overhead of an empty value', () => {
    const cache = new DerivedCache();
    const key = (i: number): string => String(i).padStart(100_000, '0');
    const keysMax = Math.floor(DERIVED_CACHE_BYTES_MAX / (DERIVED_VALUE_BYTES + 200_000));
    const made = new Set<number>();
    const get = (i: number): unknown =>
      cache.get(
        snapshot,
        key(i),
        () => made.add(i),
        () => 0,
      );
    for (let i = 0; i <= keysMax; i++) get(i);
    made.clear();
    get(1);
    assert.deepEqual([...made], []);
    get(0);
    assert.deepEqual([...made], [0]);
  });

  for (const [source, answer] of [
    [0.001, 63],
    [1, 64],
    [17, 47],
    [30, 40],
    [256, 1],
    [256, 320],
  ] as const) {
    it(`computes an answer of ${answer} MiB and its source of ${source} MiB once for many callers [STATE-62]`, () => {
      const { get, taken } = cacheWithLog();
      for (let round = 0; round < 10; round++) {
        get(snapshot, 'source', source * MEBIBYTE);
        get(snapshot, 'answer', answer * MEBIBYTE);
        get(snapshot, `other-${round}`, MEBIBYTE);
        get(table, `other-${round}`, MEBIBYTE);
      }
      const others = taken()
        .split(' ')
        .filter((key) => !key.startsWith('other'));
      assert.deepEqual(others, ['source', 'answer']);
    });
  }

  it('keeps three values of any size', () => {
    const { get, taken } = cacheWithLog();
    for (const key of ['a', 'b', 'c', 'a', 'b', 'c', 'd', 'b', 'c', 'd'])
      get(snapshot, key, 2 * DERIVED_CACHE_BYTES_MAX);
    assert.equal(taken(), 'a b c d');
    get(snapshot, 'a', DERIVED_CACHE_BYTES_MAX * DERIVED_VALUE_SHARE_MAX);
    assert.equal(taken(), 'a');
  });

  it('drops the values of all owners that are not kept, and frees their share of the budget [STATE-62]', () => {
    const { cache, get, taken } = cacheWithLog();
    const bytes = DERIVED_CACHE_BYTES_MAX / 4;
    get(snapshot, 'a', bytes);
    get(table, 'b', bytes);
    cache.keepOnly([{}, table]);
    for (const key of ['c', 'd', 'e']) get(snapshot, key, bytes);
    get(table, 'b', bytes);
    assert.equal(taken(), 'a b c d e');
    get(snapshot, 'a', bytes);
    assert.equal(taken(), 'a');
  });

  it('drops at the next call values that a reader of an old snapshot adds', () => {
    const { cache, get, taken } = cacheWithLog();
    for (let i = 0; i < 2; i++) {
      cache.keepOnly([{}, table]);
      get(snapshot, 'a', 1_000);
      get(snapshot, 'a', 1_000);
      assert.equal(taken(), 'a');
    }
  });
});

describe('derivedFrom', () => {
  it('computes once per object, an undefined result included', () => {
    let calls = 0;
    const first = derivedFrom((list: readonly string[]) => {
      calls += 1;
      return list[0];
    });
    const [empty, list] = [[], ['a']];
    assert.deepEqual([first(empty), first(list), first(empty), first(list)], [undefined, 'a', undefined, 'a']);
    assert.equal(calls, 2);
  });
});

describe('derivedFromBoth', () => {
  it('computes again when the second argument changes, and remembers the last result of each object', () => {
    const made: string[] = [];
    const join = derivedFromBoth((list: readonly string[], separator: string) => {
      made.push(separator);
      return list.join(separator);
    });
    const [one, other] = [
      ['a', 'b'],
      ['c', 'd'],
    ];
    assert.deepEqual([join(one, '-'), join(other, '+'), join(one, '-')], ['a-b', 'c+d', 'a-b']);
    assert.deepEqual([join(one, '+'), join(one, '-')], ['a+b', 'a-b']);
    assert.deepEqual(made, ['-', '+', '+', '-']);
  });

  it('compares the second argument with the given function', () => {
    let calls = 0;
    const count = derivedFromBoth(
      (_: object, { name }: { readonly name: string }) => `${name} ${++calls}`,
      (a, b) => a.name === b.name,
    );
    const source = {};
    assert.deepEqual([count(source, { name: 'a' }), count(source, { name: 'a' })], ['a 1', 'a 1']);
    assert.equal(count(source, { name: 'b' }), 'b 2');
  });
});
