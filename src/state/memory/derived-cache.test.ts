import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MEMO_BYTES, MEMOS_BYTES_MAX } from '../limits.ts';
import { createMemos } from './derived-cache.ts';

describe('shared results', () => {
  /** Asks for keys that each weigh `bytes` with everything. @returns those that had to be made */
  const asking = (bytes: number) => {
    const memos = createMemos();
    return (...keys: readonly string[]): string[] => {
      const made: string[] = [];
      for (const key of keys) {
        const make = (): string => {
          made.push(key);
          return `of ${key}`;
        };
        assert.equal(
          memos.of(key, make, () => bytes - MEMO_BYTES - 2 * key.length),
          `of ${key}`,
        );
      }
      return made;
    };
  };

  it('are kept up to what they weigh together, and then go those that were used least lately', () => {
    const ask = asking(MEMOS_BYTES_MAX / 2);
    assert.deepEqual(ask('a', 'b', 'b', 'a'), ['a', 'b']);
    assert.deepEqual(ask('c', 'a', 'c'), ['c']);
    assert.deepEqual(ask('b', 'a'), ['b', 'a']);
  });

  it('weigh something even when they are empty, with the key that a caller chose', () => {
    const memos = createMemos();
    const key = (i: number): string => String(i).padStart(100_000, '0');
    const keysMax = Math.floor(MEMOS_BYTES_MAX / (MEMO_BYTES + 200_000));
    const made = new Set<number>();
    const ask = (i: number): unknown =>
      memos.of(
        key(i),
        () => made.add(i),
        () => 0,
      );
    for (let i = 0; i <= keysMax; i++) ask(i);
    made.clear();
    ask(1);
    assert.deepEqual([...made], []);
    ask(0);
    assert.deepEqual([...made], [0]);
  });

  it('that are heavy are kept, the two that were used last, and drive nothing out', () => {
    const heavy = asking(2 * MEMOS_BYTES_MAX);
    assert.deepEqual(heavy('a', 'b', 'a', 'b', 'c', 'a', 'c'), ['a', 'b', 'c', 'a']);
    for (const [source, answer] of [
      [0.001, 33],
      [1, 31.9],
      [4, 30],
      [17, 20],
    ]) {
      const memos = createMemos();
      let made = 0;
      const ask = (key: string, mebibytes = 0): number =>
        memos.of(
          key,
          () => ++made,
          () => mebibytes * 1024 * 1024,
        );
      for (let round = 0; round < 10; round++) {
        ask('source', source);
        ask('answer', answer);
      }
      assert.equal(made, 2, `${source} and ${answer} MiB`);
    }
  });
});
