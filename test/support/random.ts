/** A source of random numbers that a seed reproduces. */
export interface Random {
  /** In [0, 1). */
  next(): number;
  /** An integer in [0, below). */
  below(below: number): number;
  /** Returns one of `values`. @throws RangeError if `values` is empty */
  pick<T>(values: readonly T[]): T;
  /** Returns true with the given probability. */
  chance(probability: number): boolean;
  /** Returns an independent source. Its numbers do not depend on later calls to this one. */
  fork(): Random;
}

/** Creates a Mulberry32 generator. Its 32 bits of state are sufficient for tests. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  const below = (limit: number): number => Math.floor(next() * limit);
  return {
    next,
    below,
    pick<T>(values: readonly T[]): T {
      const value = values[below(values.length)];
      if (value === undefined) throw new RangeError('cannot pick from an empty list');
      return value;
    },
    chance: (probability) => next() < probability,
    fork: () => createRandom(below(2 ** 32)),
  };
}
