import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PAGE_BYTES, PAGE_ROWS_MAX } from '../limits.ts';
import { rowsOfNextPage } from './load.ts';

const rows = (count: number, size: number): Uint8Array[] => Array.from({ length: count }, () => new Uint8Array(size));

test('the next page has as many rows as make the size aimed at', () => {
  assert.equal(rowsOfNextPage(rows(1_000, 1_024)), PAGE_BYTES / 1_024);
});

test('a page is never empty and never of more rows than can be held', () => {
  assert.equal(rowsOfNextPage(rows(1, 2 * PAGE_BYTES)), 1);
  assert.equal(rowsOfNextPage(rows(10, 1)), PAGE_ROWS_MAX);
});
