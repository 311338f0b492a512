/** Results that many callers share, kept up to what they weigh together. */
import { HEAVY_MEMOS_MAX, MEMO_BYTES, MEMOS_BYTES_MAX } from '../limits.ts';

export interface Memos {
  /** What `make` gave for `key` before, else now. @param bytesOf roughly what it holds in memory that nobody else does */
  of<T>(key: string, make: () => T, bytesOf: (value: T) => number): T;
}

interface Memo {
  readonly value: unknown;
  readonly bytes: number;
}

/**
 * None yet. What weighs more than half of what all may has a place beside them: it is what must not be made again for
 * each of thousands who wake for it, and it would drive out what it is made of, which then drives it out.
 */
export function createMemos(): Memos {
  /** Both in the order of their last use. */
  const light = new Map<string, Memo>();
  const heavy = new Map<string, Memo>();
  let lightBytes = 0;

  function keep(key: string, memo: Memo): void {
    if (memo.bytes > MEMOS_BYTES_MAX / 2) {
      const [oldest] = heavy.keys();
      if (heavy.size === HEAVY_MEMOS_MAX && oldest !== undefined) heavy.delete(oldest);
      heavy.set(key, memo);
      return;
    }
    for (const [oldest, { bytes: freed }] of light) {
      if (lightBytes + memo.bytes <= MEMOS_BYTES_MAX) break;
      light.delete(oldest);
      lightBytes -= freed;
    }
    light.set(key, memo);
    lightBytes += memo.bytes;
  }

  function use(kept: Map<string, Memo>, key: string): Memo | undefined {
    const known = kept.get(key);
    if (known === undefined) return undefined;
    kept.delete(key);
    kept.set(key, known);
    return known;
  }

  return {
    of<T>(key: string, make: () => T, bytesOf: (value: T) => number): T {
      const known = use(light, key) ?? use(heavy, key);
      if (known !== undefined) return known.value as T;
      const value = make();
      keep(key, { value, bytes: MEMO_BYTES + 2 * key.length + bytesOf(value) });
      return value;
    },
  };
}
