import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { LATE_WRITE_MS } from './limits.ts';
import { ABSENT, afterRead, afterWrite, certain, certainValue } from './model.ts';

const before = certain('v1');

describe('afterWrite', () => {
  test('has the new value after an acknowledged write', () => {
    assert.equal(certainValue(afterWrite(before, 'v2', 'done', 0)), 'v2');
  });

  for (const outcome of ['rejected', 'unavailable'] as const) {
    test(`keeps the old value when the outcome is ${outcome}`, () => {
      assert.equal(certainValue(afterWrite(before, 'v2', outcome, 0)), 'v1');
    });
  }

  test('allows both values after a lost response', () => {
    const model = afterWrite(before, 'v2', 'unknown', 0);
    assert.deepEqual(model.values, ['v1', 'v2']);
    assert.equal(certainValue(model), undefined);
  });
});

describe('afterRead', () => {
  test('accepts the acknowledged value', () => {
    assert.deepEqual(afterRead(before, 'v1', 0), { model: before, isWrong: false });
  });

  for (const [what, value] of [
    ['an older value (lost write)', 'v0'],
    ['an absent resource (lost resource)', ABSENT],
    ['a value that was never written', 'v9'],
  ] as const) {
    test(`reports ${what} once`, () => {
      const { model, isWrong } = afterRead(before, value, 0);
      assert.ok(isWrong);
      assert.equal(afterRead(model, value, 0).isWrong, false);
    });
  }

  const lost = afterWrite(before, 'v2', 'unknown', 1_000);

  test('settles a lost write that is visible: the old value is wrong afterwards', () => {
    const { model, isWrong } = afterRead(lost, 'v2', 1_001);
    assert.deepEqual([model, isWrong], [certain('v2'), false]);
    assert.ok(afterRead(model, 'v1', 1_002).isWrong);
  });

  test('keeps both values while a lost write may still take effect', () => {
    const { model, isWrong } = afterRead(lost, 'v1', 1_001);
    assert.deepEqual([model.values, isWrong], [['v1', 'v2'], false]);
    assert.equal(afterRead(model, 'v2', 1_002).isWrong, false);
  });

  test('settles a lost write that is not visible after LATE_WRITE_MS: the new value is wrong afterwards', () => {
    const { model } = afterRead(lost, 'v1', 1_000 + LATE_WRITE_MS);
    assert.deepEqual(model, certain('v1'));
    assert.ok(afterRead(model, 'v2', 1_000 + LATE_WRITE_MS).isWrong);
  });
});
