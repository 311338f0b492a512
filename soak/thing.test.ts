import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ABSENT } from './known.ts';
import { HISTORY_MAX } from './limits.ts';
import { currentValue, newThing, noted, read, written } from './thing.ts';

const made = written(newThing('t1'), {
  value: 'v1',
  outcome: 'done',
  seen: { value: 'v1', id: 'id-1', index: 5 },
  nowMs: 0,
});

describe('a thing', () => {
  test('is not there at first, and has the id of its creation once it was made', () => {
    assert.equal(currentValue(newThing('t1')), ABSENT);
    assert.deepEqual([currentValue(made), made.id], ['v1', 'id-1']);
  });

  test('gets its id from a list when the answer to its creation was lost', () => {
    const lost = written(newThing('t1'), { value: 'v1', outcome: 'unknown', nowMs: 0 });
    assert.equal(lost.id, undefined);
    assert.equal(read(lost, { value: 'v1', id: 'id-1' }, 1).thing.id, 'id-1');
  });

  test('has no id any more once it is gone for certain, and keeps it while that is not known', () => {
    assert.equal(written(made, { value: ABSENT, outcome: 'done', nowMs: 0 }).id, undefined);
    const lost = written(made, { value: ABSENT, outcome: 'unknown', nowMs: 0 });
    assert.equal(lost.id, 'id-1');
    assert.equal(read(lost, { value: ABSENT }, 1).thing.id, undefined);
  });

  test('that is read with an older index than before is wrong, also with the right value', () => {
    const { thing, wrong } = read(made, { value: 'v1', index: 7 }, 0);
    assert.equal(wrong, false);
    assert.ok(read(thing, { value: 'v1', index: 6 }, 0).wrong);
  });

  test('remembers what was done to it last, and no more', () => {
    const lines = Array.from({ length: 2 * HISTORY_MAX }, (_, at) => `${at}`);
    const { history } = lines.reduce(noted, made);
    assert.deepEqual(history, lines.slice(-HISTORY_MAX));
  });
});
