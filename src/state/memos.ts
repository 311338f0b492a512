/** Results that many callers share, kept up to what they weigh together. */
import { MEMO_BYTES, MEMOS_BYTES_MAX } from './limits.ts';

export interface Memos {
  /** What `make` gave for `key` before, else now. @param bytesOf roughly what it holds in memory that nobody else does */
  of<T>(key: string, make: () => T, bytesOf: (value: T) => number): T;
}

interface Memo {
  readonly value: unknown;
  readonly bytes: number;
}

/**
 * None yet. One that is heavier than all may be is kept alone: it is the one that must not be made again for each of
 * thousands who wake for it.
 */
export function createMemos(): Memos {
  const kept = new Map<string, Memo>();
  let bytes = 0;

  function keep(key: string, memo: Memo): void {
    for (const [oldest, { bytes: freed }] of kept) {
      if (bytes + memo.bytes <= MEMOS_BYTES_MAX) break;
      kept.delete(oldest);
      bytes -= freed;
    }
    kept.set(key, memo);
    bytes += memo.bytes;
  }

  return {
    of<T>(key: string, make: () => T, bytesOf: (value: T) => number): T {
      const known = kept.get(key);
      if (known !== undefined) return known.value as T;
      const value = make();
      keep(key, { value, bytes: MEMO_BYTES + 2 * key.length + bytesOf(value) });
      return value;
    },
  };
}
