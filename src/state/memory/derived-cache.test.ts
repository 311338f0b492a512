import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DERIVED_CACHE_BYTES_MAX, DERIVED_VALUE_BYTES } from '../limits.ts';
import { createDerivedCache } from './derived-cache.ts';

describe('derived cache', () => {
  /** Gets values that take `bytes` each, overhead included. @returns the keys that were not cached */
  const getter = (bytes: number) => {
    const cache = createDerivedCache();
    return (...keys: readonly string[]): string[] => {
      const made: string[] = [];
      for (const key of keys) {
        const make = (): string => {
          made.push(key);
          return `of ${key}`;
        };
        assert.equal(
          cache.get(key, make, () => bytes - DERIVED_VALUE_BYTES - 2 * key.length),
          `of ${key}`,
        );
      }
      return made;
    };
  };

  it('evicts the least recently used values beyond its byte limit [STATE-62]', () => {
    const get = getter(DERIVED_CACHE_BYTES_MAX / 2);
    assert.deepEqual(get('a', 'b', 'b', 'a'), ['a', 'b']);
    assert.deepEqual(get('c', 'a', 'c'), ['c']);
    assert.deepEqual(get('b', 'a'), ['b', 'a']);
  });

  it('counts the key and the overhead of an empty value', () => {
    const cache = createDerivedCache();
    const key = (i: number): string => String(i).padStart(100_000, '0');
    const keysMax = Math.floor(DERIVED_CACHE_BYTES_MAX / (DERIVED_VALUE_BYTES + 200_000));
    const made = new Set<number>();
    const get = (i: number): unknown =>
      cache.get(
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

  it('keeps the two most recently used large values, without evicting small ones [STATE-62]', () => {
    const getLarge = getter(2 * DERIVED_CACHE_BYTES_MAX);
    assert.deepEqual(getLarge('a', 'b', 'a', 'b', 'c', 'a', 'c'), ['a', 'b', 'c', 'a']);
    for (const [source, answer] of [
      [0.001, 33],
      [1, 31.9],
      [4, 30],
      [17, 20],
    ]) {
      const cache = createDerivedCache();
      let made = 0;
      const get = (key: string, mebibytes = 0): number =>
        cache.get(
          key,
          () => ++made,
          () => mebibytes * 1024 * 1024,
        );
      for (let round = 0; round < 10; round++) {
        get('source', source);
        get('answer', answer);
      }
      assert.equal(made, 2, `${source} and ${answer} MiB`);
    }
  });
});
