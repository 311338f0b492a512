/**
 * Caches of values derived from rows. Values that depend on several rows are in the `DerivedCache` of the state, with
 * one budget. A value that depends on one immutable object, such as a row, is freed with that object: see
 * `derivedFrom`.
 */
import { DERIVED_CACHE_BYTES_MAX, DERIVED_VALUE_BYTES, DERIVED_VALUE_BYTES_MAX } from '../limits.ts';

interface CachedValue {
  readonly value: unknown;
  readonly bytes: number;
  lastUse: number;
}

/** The values of one owner. */
interface ValueGroup {
  /** Values by key, in the order of their last use. */
  readonly values: Map<string, CachedValue>;
  bytes: number;
}

/**
 * A cache of values, each of which belongs to an owner: the snapshot or the version of a table that it was derived
 * from. Evicts the least recently used values of all owners beyond DERIVED_CACHE_BYTES_MAX.
 *
 * A value counts as at most DERIVED_VALUE_BYTES_MAX, even if it is larger than the whole budget. Thousands of waiting
 * clients may ask for a large answer at once. If it counted in full, it would evict the value that it was derived from,
 * which would evict the answer in turn, and every client would compute both.
 */
export class DerivedCache {
  #groups = new Map<object, ValueGroup>();
  #bytes = 0;
  #uses = 0;

  /** Returns the cached value of `key`, or caches `make`'s. `bytesOf` estimates the memory of this value alone. */
  get<T>(owner: object, key: string, make: () => T, bytesOf: (value: T) => number): T {
    const cached = this.#use(owner, key);
    if (cached !== undefined) return cached.value as T;
    const value = make();
    const bytes = DERIVED_VALUE_BYTES + 2 * key.length + bytesOf(value);
    this.#add(owner, key, { value, bytes: Math.min(bytes, DERIVED_VALUE_BYTES_MAX), lastUse: ++this.#uses });
    return value;
  }

  /**
   * Drops the values of all owners that are not in `owners`, without visiting each value. A request that still reads an
   * old snapshot may add values for a dropped owner, which the next call drops.
   */
  keepOnly(owners: Iterable<object>): void {
    if (this.#groups.size === 0) return;
    const kept = new Map<object, ValueGroup>();
    let bytes = 0;
    for (const owner of owners) {
      const group = this.#groups.get(owner);
      if (group === undefined) continue;
      kept.set(owner, group);
      bytes += group.bytes;
    }
    this.#groups = kept;
    this.#bytes = bytes;
  }

  #use(owner: object, key: string): CachedValue | undefined {
    const values = this.#groups.get(owner)?.values;
    const cached = values?.get(key);
    if (values === undefined || cached === undefined) return undefined;
    cached.lastUse = ++this.#uses;
    values.delete(key);
    values.set(key, cached);
    return cached;
  }

  #add(owner: object, key: string, added: CachedValue): void {
    while (this.#bytes + added.bytes > DERIVED_CACHE_BYTES_MAX) this.#evictOldest();
    const group = this.#groups.getOrInsertComputed(owner, () => ({ values: new Map(), bytes: 0 }));
    group.values.set(key, added);
    group.bytes += added.bytes;
    this.#bytes += added.bytes;
  }

  /**
   * Evicts the least recently used value. Compares one value per owner, and there are hardly more owners than tables.
   */
  #evictOldest(): void {
    let oldest: { readonly owner: object; readonly key: string; readonly cached: CachedValue } | undefined;
    for (const [owner, { values }] of this.#groups) {
      const [first] = values;
      if (first === undefined) continue;
      const [key, cached] = first;
      if (oldest === undefined || cached.lastUse < oldest.cached.lastUse) oldest = { owner, key, cached };
    }
    if (oldest !== undefined) this.#delete(oldest.owner, oldest.key, oldest.cached.bytes);
  }

  #delete(owner: object, key: string, bytes: number): void {
    const group = this.#groups.get(owner);
    if (group === undefined) return;
    group.values.delete(key);
    group.bytes -= bytes;
    this.#bytes -= bytes;
    if (group.values.size === 0) this.#groups.delete(owner);
  }
}

/**
 * Returns a function that calls `make` once per object and keeps the result as long as the object is in memory. The
 * object must not change, and the result must depend on nothing else.
 */
export function derivedFrom<Source extends object, T>(make: (source: Source) => T): (source: Source) => T {
  const values = new WeakMap<Source, T>();
  return (source) => values.getOrInsertComputed(source, make);
}

/**
 * Returns a function that keeps one result of `make` per object: the one for the last `other`. Use it for a result that
 * also depends on a value that rarely changes, such as the name of the peering that an imported row belongs to.
 */
export function derivedFromBoth<Source extends object, Other, T>(
  make: (source: Source, other: Other) => T,
  isSame: (a: Other, b: Other) => boolean = Object.is,
): (source: Source, other: Other) => T {
  const results = new WeakMap<Source, { readonly other: Other; readonly value: T }>();
  return (source, other) => {
    let result = results.get(source);
    if (result === undefined || !isSame(result.other, other)) {
      result = { other, value: make(source, other) };
      results.set(source, result);
    }
    return result.value;
  };
}
