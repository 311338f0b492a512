import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFaultLog } from './fault-log.ts';

test('calm begins when both ends are back, not when the fault ends; a pause for measuring does not end it', () => {
  let nowMs = 0;
  const log = createFaultLog(() => nowMs);
  const seen = (): readonly unknown[] => {
    const { cutSinceMs, calmSinceMs } = log.facts();
    return [cutSinceMs, calmSinceMs, log.quiet()];
  };
  assert.deepEqual(seen(), [undefined, undefined, undefined], 'nobody has seen them up yet');
  nowMs = 10;
  log.begin('cut');
  assert.deepEqual(seen(), [10, undefined, undefined]);
  nowMs = 20;
  log.heal();
  assert.deepEqual(seen(), [undefined, undefined, undefined]);
  nowMs = 30;
  log.settle();
  assert.deepEqual(seen(), [undefined, 30, 2]);
  nowMs = 40;
  log.disturb();
  assert.deepEqual(seen(), [undefined, 30, undefined]);
  log.settle();
  assert.deepEqual(seen(), [undefined, 30, 4]);
});
