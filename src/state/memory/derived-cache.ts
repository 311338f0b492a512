/**
 * Caches of values derived from rows. Values that depend on several rows are in the `DerivedCache` of the state, with
 * one budget. A value that depends on one immutable object, such as a row, is freed with that object: see
 * `derivedFrom`.
 */
import { SharedSteps, type Steps } from '../clock/slices.ts';
import {
  DERIVED_CACHE_BYTES_MAX,
  DERIVED_VALUE_BYTES,
  DERIVED_VALUE_SHARE_MAX,
  FRAGMENT_BYTES,
  FRAGMENTS_BYTES_MAX,
} from '../limits.ts';

/** The memory of derived values, in bytes. */
export interface DerivedLimits {
  /** Of the values that depend on several rows. */
  readonly cacheBytesMax: number;
  /** Of the values that depend on one object, in the whole process. */
  readonly fragmentBytesMax: number;
}

/** The limits of a process with a heap of the default size. */
export const DERIVED_LIMITS: DerivedLimits = {
  cacheBytesMax: DERIVED_CACHE_BYTES_MAX,
  fragmentBytesMax: FRAGMENTS_BYTES_MAX,
};

let limits = DERIVED_LIMITS;

/** Sets the limits of all caches. They are global because the process has one heap. */
export function setDerivedLimits(next: DerivedLimits): void {
  limits = next;
}

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
 * from. Evicts the least recently used values of all owners beyond `cacheBytesMax`.
 *
 * A value counts as at most DERIVED_VALUE_SHARE_MAX of that, even if it is larger than the whole budget. Thousands of
 * waiting clients may ask for a large answer at once. If it counted in full, it would evict the value that it was derived
 * from, which would evict the answer in turn, and every client would compute both.
 */
export class DerivedCache {
  #groups = new Map<object, ValueGroup>();
  /** The values that are being made in slices. */
  readonly #underWay = new WeakMap<object, Map<string, SharedSteps<unknown>>>();
  #bytes = 0;
  #uses = 0;

  /** Returns the cached value of `key`, or caches `make`'s. `bytesOf` estimates the memory of this value alone. */
  get<T>(owner: object, key: string, make: () => T, bytesOf: (value: T) => number): T {
    const cached = this.#use(owner, key);
    if (cached !== undefined) return cached.value as T;
    const value = make();
    this.#add(owner, key, value, bytesOf(value));
    return value;
  }

  /** As `get`, for a value that takes long. All who ask for it while it is being made share the steps. */
  *getInSlices<T>(owner: object, key: string, make: () => Steps<T>, bytesOf: (value: T) => number): Steps<T> {
    const cached = this.#use(owner, key);
    if (cached !== undefined) return cached.value as T;
    const underWay = this.#underWay.getOrInsertComputed(owner, () => new Map<string, SharedSteps<unknown>>());
    const shared = underWay.getOrInsertComputed(key, () => {
      return new SharedSteps<unknown>(make(), (result) => {
        underWay.delete(key);
        if (result !== undefined) this.#add(owner, key, result.value, bytesOf(result.value as T));
      });
    });
    return (yield* shared.join()) as T;
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

  #add(owner: object, key: string, value: unknown, valueBytes: number): void {
    const bytesMax = Math.floor(limits.cacheBytesMax * DERIVED_VALUE_SHARE_MAX);
    const bytes = Math.min(DERIVED_VALUE_BYTES + 2 * key.length + valueBytes, bytesMax);
    const added: CachedValue = { value, bytes, lastUse: ++this.#uses };
    while (this.#bytes + added.bytes > limits.cacheBytesMax) this.#evictOldest();
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
 * Estimated bytes of all values that depend on one object and were added since the last time all were dropped. Values
 * that were freed with their objects still count, so a server with much change drops all of them now and then.
 */
let fragmentBytes = 0;
/** Counts how often all were dropped. A map of an earlier generation is dropped at its next use. */
let fragmentGeneration = 0;

/** Values by the object that they depend on. They are freed with it, or when all of them together are too large. */
class Fragments<Source extends object, T> {
  #values = new WeakMap<Source, T>();
  #generation = fragmentGeneration;

  get(source: Source): T | undefined {
    if (this.#generation !== fragmentGeneration) {
      this.#generation = fragmentGeneration;
      this.#values = new WeakMap();
    }
    return this.#values.get(source);
  }

  set(source: Source, value: T, bytes: number): void {
    fragmentBytes += bytes;
    if (fragmentBytes > limits.fragmentBytesMax) {
      fragmentBytes = bytes;
      fragmentGeneration++;
      this.get(source);
    }
    this.#values.set(source, value);
  }
}

/** Returns the estimated memory of a value: of its text if it has one, and of a small object otherwise. */
function fragmentBytesOf(value: unknown): number {
  if (typeof value === 'string') return FRAGMENT_BYTES + value.length;
  if (value instanceof Uint8Array) return FRAGMENT_BYTES + value.byteLength;
  if (typeof value !== 'object' || value === null) return FRAGMENT_BYTES;
  const text = 'text' in value && typeof value.text === 'string' ? value.text.length : 0;
  return 2 * FRAGMENT_BYTES + text;
}

/**
 * Returns a function that calls `make` once per object and keeps the result while the object is in memory, unless the
 * memory for such results is used up. The object must not change, and the result must depend on nothing else.
 */
export function derivedFrom<Source extends object, T>(make: (source: Source) => T): (source: Source) => T {
  const results = derivedFromBoth((source: Source) => make(source));
  return (source) => results(source, undefined);
}

/**
 * Returns a function that keeps one result of `make` per object: the one for the last `other`. Use it for a result that
 * also depends on a value that rarely changes, such as the name of the peering that an imported row belongs to.
 */
export function derivedFromBoth<Source extends object, Other, T>(
  make: (source: Source, other: Other) => T,
  isSame: (a: Other, b: Other) => boolean = Object.is,
): (source: Source, other: Other) => T {
  const results = new Fragments<Source, { readonly other: Other; readonly value: T }>();
  return (source, other) => {
    let result = results.get(source);
    if (result === undefined || !isSame(result.other, other)) {
      result = { other, value: make(source, other) };
      results.set(source, result, fragmentBytesOf(result.value));
    }
    return result.value;
  };
}
