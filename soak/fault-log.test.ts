import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFaultLog } from './fault-log.ts';

test('a fault log sets calmSinceMs at the recovery, not at the end of the fault, and keeps it during a measurement', () => {
  let nowMs = 0;
  const log = createFaultLog(() => nowMs);
  const observe = (): readonly unknown[] => {
    const { cutSinceMs, calmSinceMs } = log.linkStatus();
    return [cutSinceMs, calmSinceMs, log.calmCount()];
  };
  assert.deepEqual(observe(), [undefined, undefined, undefined], 'the peerings have not been up yet');
  nowMs = 10;
  log.beginFault('cut');
  assert.deepEqual(observe(), [10, undefined, undefined]);
  nowMs = 20;
  log.endFault();
  assert.deepEqual(observe(), [undefined, undefined, undefined]);
  nowMs = 30;
  log.recovered();
  assert.deepEqual(observe(), [undefined, 30, 2]);
  nowMs = 40;
  log.beginMeasurement();
  assert.deepEqual(observe(), [undefined, 30, undefined]);
  log.recovered();
  assert.deepEqual(observe(), [undefined, 30, 4]);
});
