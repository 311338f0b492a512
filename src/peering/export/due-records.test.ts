import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { createDueRecords } from './due-records.ts';

test('waiting for due records leaves nothing behind at a signal that lives on', async () => {
  const due = createDueRecords();
  const { signal } = new AbortController();
  for (let round = 0; round < 20; round++) {
    const some = due.some(signal);
    assert.equal(getEventListeners(signal, 'abort').length, 1);
    due.add(`id-${round}`);
    await some;
    assert.equal(getEventListeners(signal, 'abort').length, 0);
    assert.deepEqual(due.take(10), [`id-${round}`]);
  }
});

test('waiting for due records ends with the signal, and at once where there are some', async () => {
  const due = createDueRecords();
  const ending = new AbortController();
  const some = due.some(ending.signal);
  ending.abort();
  await some;
  await due.some(ending.signal);
  const { signal } = new AbortController();
  for (const id of ['a', 'b', 'a', 'c']) due.add(id);
  await due.some(signal);
  assert.equal(getEventListeners(signal, 'abort').length, 0);
  due.delete('b');
  assert.deepEqual([due.take(1), due.take(5), due.take(5)], [['a'], ['c'], []]);
});
