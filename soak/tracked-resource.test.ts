import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { HISTORY_MAX } from './limits.ts';
import { ABSENT } from './model.ts';
import { appendHistory, currentValue, newTrackedResource, recordRead, recordWrite } from './tracked-resource.ts';

const created = recordWrite(newTrackedResource('t1'), {
  value: 'v1',
  outcome: 'done',
  observed: { value: 'v1', id: 'id-1', index: 5 },
  nowMs: 0,
});

describe('a tracked resource', () => {
  test('is absent at first, and has the ID from the response that created it', () => {
    assert.equal(currentValue(newTrackedResource('t1')), ABSENT);
    assert.deepEqual([currentValue(created), created.id], ['v1', 'id-1']);
  });

  test('takes its ID from a list when the response that created it was lost', () => {
    const lost = recordWrite(newTrackedResource('t1'), { value: 'v1', outcome: 'unknown', nowMs: 0 });
    assert.equal(lost.id, undefined);
    assert.equal(recordRead(lost, { value: 'v1', id: 'id-1' }, 1).resource.id, 'id-1');
  });

  test('loses its ID after a confirmed deletion, and keeps it while the outcome is unknown', () => {
    assert.equal(recordWrite(created, { value: ABSENT, outcome: 'done', nowMs: 0 }).id, undefined);
    const lost = recordWrite(created, { value: ABSENT, outcome: 'unknown', nowMs: 0 });
    assert.equal(lost.id, 'id-1');
    assert.equal(recordRead(lost, { value: ABSENT }, 1).resource.id, undefined);
  });

  test('reports a read with a lower index than before, even with the correct value', () => {
    const { resource, isWrong } = recordRead(created, { value: 'v1', index: 7 }, 0);
    assert.equal(isWrong, false);
    assert.ok(recordRead(resource, { value: 'v1', index: 6 }, 0).isWrong);
  });

  test('keeps the last HISTORY_MAX lines of history', () => {
    const lines = Array.from({ length: 2 * HISTORY_MAX }, (_, line) => `${line}`);
    const { history } = lines.reduce(appendHistory, created);
    assert.deepEqual(history, lines.slice(-HISTORY_MAX));
  });
});
