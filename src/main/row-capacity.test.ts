import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rowCapacity, rowsThatFitHeap } from './row-capacity.ts';

const MEBIBYTE = 2 ** 20;

test('rowCapacity returns the setting when the heap holds more rows', () => {
  const max = rowCapacity(2_000_000, 4_192 * MEBIBYTE);
  assert.deepEqual(max, {
    rows: 2_000_000,
    reason: 'state.rows-max is 2000000: remove rows or raise it',
    isLimitedByHeap: false,
  });
});

test('rowCapacity returns the capacity of a small heap, with its size, the setting, and a remedy', () => {
  const { rows, reason, isLimitedByHeap: byHeap } = rowCapacity(2_000_000, 512 * MEBIBYTE);
  assert.ok(byHeap);
  // A million ACL tokens end such a process; half a million leave it room.
  assert.ok(rows > 400_000 && rows < 600_000, `${rows}`);
  const figures = `the heap of 512 MiB holds about ${rows}, less than state.rows-max (2000000)`;
  const mend = 'remove rows, or give the server more memory (NODE_OPTIONS=--max-old-space-size=…, in MiB)';
  assert.equal(reason, `${figures}: ${mend}`);
});

test('rowsThatFitHeap returns at least the minimum of the setting', () => {
  assert.equal(rowsThatFitHeap(16 * MEBIBYTE), 1_000);
});
