/** Random numbers that a seed reproduces. */
export interface Random {
  /** In [0, 1). */
  next(): number;
  /** An integer in [0, below). */
  below(below: number): number;
  /** One of `values`, which is not empty. */
  pick<T>(values: readonly T[]): T;
  chance(probability: number): boolean;
  /** Another source, whose numbers do not depend on how many this one gives afterwards. */
  fork(): Random;
}

/** Mulberry32: 32 bits of state, enough for tests. */
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
      if (value === undefined) throw new RangeError('nothing to pick from');
      return value;
    },
    chance: (probability) => next() < probability,
    fork: () => createRandom(below(2 ** 32)),
  };
}
