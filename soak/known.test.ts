import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ABSENT, afterRead, afterWrite, certain, certainValue } from './known.ts';
import { LATE_WRITE_MS } from './limits.ts';

const before = certain('v1');

describe('what is known after a write', () => {
  test('is its value when it was answered', () => {
    assert.equal(certainValue(afterWrite(before, 'v2', 'done', 0)), 'v2');
  });

  for (const outcome of ['refused', 'unavailable'] as const) {
    test(`is what was known before when it was ${outcome}`, () => {
      assert.equal(certainValue(afterWrite(before, 'v2', outcome, 0)), 'v1');
    });
  }

  test('is that it may have been done, when its answer was lost', () => {
    const known = afterWrite(before, 'v2', 'unknown', 0);
    assert.deepEqual(known.values, ['v1', 'v2']);
    assert.equal(certainValue(known), undefined);
  });
});

describe('a read', () => {
  test('of the acknowledged value is right', () => {
    assert.deepEqual(afterRead(before, 'v1', 0), { known: before, wrong: false });
  });

  for (const [what, value] of [
    ['an older value: the write was lost', 'v0'],
    ['nothing: the thing was lost', ABSENT],
    ['a value that nobody wrote', 'v9'],
  ] as const) {
    test(`of ${what} is wrong, and is told once`, () => {
      const { known, wrong } = afterRead(before, value, 0);
      assert.ok(wrong);
      assert.equal(afterRead(known, value, 0).wrong, false);
    });
  }

  const lost = afterWrite(before, 'v2', 'unknown', 1_000);

  test('that shows a lost write settles it: going back is wrong', () => {
    const { known, wrong } = afterRead(lost, 'v2', 1_001);
    assert.deepEqual([known, wrong], [certain('v2'), false]);
    assert.ok(afterRead(known, 'v1', 1_002).wrong);
  });

  test('that does not show a lost write settles nothing while it may still be done', () => {
    const { known, wrong } = afterRead(lost, 'v1', 1_001);
    assert.deepEqual([known.values, wrong], [['v1', 'v2'], false]);
    assert.equal(afterRead(known, 'v2', 1_002).wrong, false);
  });

  test('that does not show a lost write settles that it was not done, once it is too late for it', () => {
    const { known } = afterRead(lost, 'v1', 1_000 + LATE_WRITE_MS);
    assert.deepEqual(known, certain('v1'));
    assert.ok(afterRead(known, 'v2', 1_000 + LATE_WRITE_MS).wrong);
  });
});
