import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { JsonApiError } from './errors.ts';
import { onPage, paginationOf, readPage, readPageAlways } from './pagination.ts';

const query = (text: string): Map<string, string> => new Map(new URLSearchParams(text));

describe('pages', () => {
  test('are there when either parameter is given', () => {
    assert.equal(readPage(query('')), undefined);
    assert.deepEqual(readPage(query('page[number]=3')), { number: 3, size: 20 });
    assert.deepEqual(readPage(query('page[size]=100')), { number: 1, size: 100 });
    assert.deepEqual(readPageAlways(query('')), { number: 1, size: 20 });
  });

  for (const text of [
    'page[size]=0',
    'page[size]=101',
    'page[size]=x',
    'page[size]=',
    'page[size]=1.5',
    'page[size]=-1',
  ]) {
    test(`are refused for ${text}`, () => {
      assert.throws(
        () => readPage(query(text)),
        (error) =>
          error instanceof JsonApiError &&
          error.message === 'page[size] must be between 1 and 100' &&
          error.faults[0]?.parameter === 'page[size]',
      );
    });
  }

  test('are refused with all that is wrong', () => {
    assert.throws(
      () => readPage(query('page[size]=0&page[number]=0')),
      (error) => error instanceof JsonApiError && error.faults.length === 2,
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
    test(`number ${number} of ${total} rows, two on each`, () => {
      const told = paginationOf({ number, size: 2 }, total);
      assert.deepEqual([told['prev-page'], told['next-page'], told['total-pages']], expected);
      assert.deepEqual([told['current-page'], told['page-size'], told['total-count']], [number, 2, total]);
    });
  }

  test('hold their part of the list, and nothing past its end', () => {
    assert.deepEqual(onPage([1, 2, 3], { number: 2, size: 2 }), [3]);
    assert.deepEqual(onPage([1, 2, 3], { number: 9, size: 2 }), []);
  });
});
