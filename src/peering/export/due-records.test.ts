import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { test } from 'node:test';
import { createDueRecords } from './due-records.ts';

test('whenNotEmpty removes its listener from a signal that has not aborted', async () => {
  const due = createDueRecords();
  const { signal } = new AbortController();
  for (let round = 0; round < 20; round++) {
    const waiting = due.whenNotEmpty(signal);
    assert.equal(getEventListeners(signal, 'abort').length, 1);
    due.add(`id-${round}`);
    await waiting;
    assert.equal(getEventListeners(signal, 'abort').length, 0);
    assert.deepEqual(due.take(10), [`id-${round}`]);
  }
});

test('whenNotEmpty resolves when the signal aborts, and immediately when the queue has IDs', async () => {
  const due = createDueRecords();
  const ending = new AbortController();
  const waiting = due.whenNotEmpty(ending.signal);
  ending.abort();
  await waiting;
  await due.whenNotEmpty(ending.signal);
  const { signal } = new AbortController();
  for (const id of ['a', 'b', 'a', 'c']) due.add(id);
  await due.whenNotEmpty(signal);
  assert.equal(getEventListeners(signal, 'abort').length, 0);
  due.delete('b');
  assert.deepEqual([due.take(1), due.take(5), due.take(5)], [['a'], ['c'], []]);
});
