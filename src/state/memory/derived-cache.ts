/**
 * Caches of values derived from rows, which many callers share. Lifetimes follow the data: a snapshot has a cache, and
 * so has each version of a table.
 */
import { DERIVED_CACHE_BYTES_MAX, DERIVED_VALUE_BYTES, LARGE_VALUES_MAX, TABLE_VALUE_BYTES } from '../limits.ts';

export interface DerivedCache {
  /** Returns the cached value of `key`, or caches `make`'s. `bytesOf` estimates the memory of this value alone. */
  get<T>(key: string, make: () => T, bytesOf: (value: T) => number): T;
}

interface CacheEntry {
  readonly value: unknown;
  readonly bytes: number;
}

/**
 * Returns an empty cache that evicts the least recently used values beyond DERIVED_CACHE_BYTES_MAX.
 *
 * Values above half of that limit are kept apart from the others. Thousands of waiting clients may ask for such a value
 * at once, and it would evict the smaller value that it was derived from, which would then evict it in turn.
 */
export function createDerivedCache(): DerivedCache {
  // Both in the order of the last use.
  const small = new Map<string, CacheEntry>();
  const large = new Map<string, CacheEntry>();
  let smallBytes = 0;

  function add(key: string, entry: CacheEntry): void {
    if (entry.bytes > DERIVED_CACHE_BYTES_MAX / 2) {
      const [oldest] = large.keys();
      if (large.size === LARGE_VALUES_MAX && oldest !== undefined) large.delete(oldest);
      large.set(key, entry);
      return;
    }
    for (const [oldest, { bytes: freed }] of small) {
      if (smallBytes + entry.bytes <= DERIVED_CACHE_BYTES_MAX) break;
      small.delete(oldest);
      smallBytes -= freed;
    }
    small.set(key, entry);
    smallBytes += entry.bytes;
  }

  function use(entries: Map<string, CacheEntry>, key: string): CacheEntry | undefined {
    const entry = entries.get(key);
    if (entry === undefined) return undefined;
    entries.delete(key);
    entries.set(key, entry);
    return entry;
  }

  return {
    get<T>(key: string, make: () => T, bytesOf: (value: T) => number): T {
      const cached = use(small, key) ?? use(large, key);
      if (cached !== undefined) return cached.value as T;
      const value = make();
      add(key, { value, bytes: DERIVED_VALUE_BYTES + 2 * key.length + bytesOf(value) });
      return value;
    },
  };
}

/** By the indexes of one version of a table, which snapshots share until a commit changes a row of the table. */
const tableCaches = new WeakMap<object, DerivedCache>();

/** Returns the value of `key` for one version of a table. Each value counts as TABLE_VALUE_BYTES. */
export function getTableValue<T>(tableVersion: object, key: string, make: () => T): T {
  return tableCaches.getOrInsertComputed(tableVersion, createDerivedCache).get(key, make, tableValueBytes);
}

const tableValueBytes = (): number => TABLE_VALUE_BYTES;
