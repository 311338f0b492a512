import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PAGE_BYTES, PAGE_ROWS_MAX } from '../limits.ts';
import { nextPageRows } from './load.ts';

const rows = (count: number, size: number): Uint8Array[] => Array.from({ length: count }, () => new Uint8Array(size));

test('nextPageRows returns the rows that fill a page of the target size [ETCD-57]', () => {
  assert.equal(nextPageRows(rows(1_000, 1_024)), PAGE_BYTES / 1_024);
});

test('nextPageRows returns at least 1 and at most PAGE_ROWS_MAX [ETCD-57]', () => {
  assert.equal(nextPageRows(rows(1, 2 * PAGE_BYTES)), 1);
  assert.equal(nextPageRows(rows(10, 1)), PAGE_ROWS_MAX);
});
