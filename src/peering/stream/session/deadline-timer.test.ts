import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { createFakeClock } from '../../../../test/support/fake-clock.ts';
import { createAlarm } from './deadline-timer.ts';

suite('an alarm', () => {
  test('rings once, at the earliest time that it was set to', () => {
    const clock = createFakeClock();
    const rang: number[] = [];
    const alarm = createAlarm(clock, () => rang.push(clock.monotonic()));
    alarm.set(100);
    alarm.set(50);
    alarm.set(80);
    clock.advance(200);
    assert.deepEqual([rang, clock.timers], [[50], 0]);
    alarm.set(300);
    clock.advance(100);
    assert.deepEqual(rang, [50, 300]);
  });

  test('does not ring when it is set to never', () => {
    const clock = createFakeClock();
    const alarm = createAlarm(clock, () => assert.fail('it rang'));
    alarm.set(100);
    alarm.set(Number.POSITIVE_INFINITY);
    assert.equal(clock.timers, 0);
    clock.advance(200);
  });
});
