import assert from 'node:assert/strict';
import { test } from 'node:test';
import { rowsMaxOf, rowsThatFit } from './row-capacity.ts';

const MEBIBYTE = 2 ** 20;

test('a heap that holds more rows than the setting leaves the setting alone', () => {
  const max = rowsMaxOf(2_000_000, 4_192 * MEBIBYTE);
  assert.deepEqual(max, {
    rows: 2_000_000,
    reason: 'state.rows-max is 2000000: remove rows or raise it',
    byHeap: false,
  });
});

test('the heap of a small container sets the limit, with its size, the setting and what to do', () => {
  const { rows, reason, byHeap } = rowsMaxOf(2_000_000, 512 * MEBIBYTE);
  assert.ok(byHeap);
  // A million ACL tokens end such a process; half a million leave it room.
  assert.ok(rows > 400_000 && rows < 600_000, `${rows}`);
  const figures = `the heap of 512 MiB holds about ${rows}, less than state.rows-max (2000000)`;
  const mend = 'remove rows, or give the server more memory (NODE_OPTIONS=--max-old-space-size=…, in MiB)';
  assert.equal(reason, `${figures}: ${mend}`);
});

test('a heap that holds nothing still has the least that the setting may be', () => {
  assert.equal(rowsThatFit(16 * MEBIBYTE), 1_000);
});
