import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createIndexes } from './indexes.ts';

test('an index below that of an answer that came before the request is told', () => {
  const indexes = createIndexes();
  assert.equal(indexes.begin('a', '/x')(10), undefined);
  assert.equal(indexes.begin('a', '/x')(10), undefined);
  assert.equal(indexes.begin('a', '/x')(9), 10);
  assert.equal(indexes.begin('a', '/x')(9), 10, 'also the second time');
});

test('an index below that of an answer that came meanwhile is in order', () => {
  const indexes = createIndexes();
  const first = indexes.begin('a', '/x');
  indexes.begin('a', '/x')(10);
  assert.equal(first(9), undefined);
});

test('clusters and paths have indexes of their own', () => {
  const indexes = createIndexes();
  indexes.begin('a', '/x')(10);
  assert.equal(indexes.begin('b', '/x')(9), undefined);
  assert.equal(indexes.begin('a', '/y')(9), undefined);
});
