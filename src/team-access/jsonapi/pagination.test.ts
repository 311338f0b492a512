import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { JsonApiError } from './errors.ts';
import { paginationMeta, readPage, readPageOrDefault, slicePage } from './pagination.ts';

const query = (text: string): Map<string, string> => new Map(new URLSearchParams(text));

describe('pagination', () => {
  test('applies when either parameter is present', () => {
    assert.equal(readPage(query('')), undefined);
    assert.deepEqual(readPage(query('page[number]=3')), { number: 3, size: 20 });
    assert.deepEqual(readPage(query('page[size]=100')), { number: 1, size: 100 });
    assert.deepEqual(readPageOrDefault(query('')), { number: 1, size: 20 });
  });

  for (const text of [
    'page[size]=0',
    'page[size]=101',
    'page[size]=x',
    'page[size]=',
    'page[size]=1.5',
    'page[size]=-1',
  ]) {
    test(`rejects ${text} [DOC-23]`, () => {
      assert.throws(
        () => readPage(query(text)),
        (error) =>
          error instanceof JsonApiError &&
          error.message === 'page[size] must be between 1 and 100' &&
          error.errors[0]?.parameter === 'page[size]',
      );
    });
  }

  test('reports all errors together', () => {
    assert.throws(
      () => readPage(query('page[size]=0&page[number]=0')),
      (error) => error instanceof JsonApiError && error.errors.length === 2,
    );
  });

  for (const [number, total, expected] of [
    [1, 0, [null, null, 1]],
    [1, 2, [null, null, 1]],
    [1, 3, [null, 2, 2]],
    [2, 3, [1, null, 2]],
    [2, 5, [1, 3, 3]],
    [9, 5, [3, null, 3]],
  ] as const) {
    test(`describes page ${number} of ${total} rows with two per page [DOC-25]`, () => {
      const meta = paginationMeta({ number, size: 2 }, total);
      assert.deepEqual([meta['prev-page'], meta['next-page'], meta['total-pages']], expected);
      assert.deepEqual([meta['current-page'], meta['page-size'], meta['total-count']], [number, 2, total]);
    });
  }

  test('slices the list, and returns nothing after its end', () => {
    assert.deepEqual(slicePage([1, 2, 3], { number: 2, size: 2 }), [3]);
    assert.deepEqual(slicePage([1, 2, 3], { number: 9, size: 2 }), []);
  });
});
