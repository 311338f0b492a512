import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { createIndexTracker } from './index-tracker.ts';

describe('an index tracker', () => {
  test('reports an index below that of a response that arrived before the request', () => {
    const indexes = createIndexTracker();
    assert.equal(indexes.begin('a', '/x')(10), undefined);
    assert.equal(indexes.begin('a', '/x')(10), undefined);
    assert.equal(indexes.begin('a', '/x')(9), 10);
    assert.equal(indexes.begin('a', '/x')(9), 10, 'the second time as well');
  });

  test('accepts an index below that of a response that arrived while the request was in flight', () => {
    const indexes = createIndexTracker();
    const first = indexes.begin('a', '/x');
    indexes.begin('a', '/x')(10);
    assert.equal(first(9), undefined);
  });

  test('tracks clusters and paths separately', () => {
    const indexes = createIndexTracker();
    indexes.begin('a', '/x')(10);
    assert.equal(indexes.begin('b', '/x')(9), undefined);
    assert.equal(indexes.begin('a', '/y')(9), undefined);
  });
});
