import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFakeClock } from '../../../../test/support/fake-clock.ts';
import { createDeadlineTimer } from './deadline-timer.ts';

describe('a deadline timer', () => {
  it('calls back once, at the earliest deadline that was set', () => {
    const clock = createFakeClock();
    const firedAt: number[] = [];
    const timer = createDeadlineTimer(clock, () => firedAt.push(clock.monotonic()));
    timer.set(100);
    timer.set(50);
    timer.set(80);
    clock.advance(200);
    assert.deepEqual([firedAt, clock.timerCount], [[50], 0]);
    timer.set(300);
    clock.advance(100);
    assert.deepEqual(firedAt, [50, 300]);
  });

  it('does not call back after it was set to Infinity', () => {
    const clock = createFakeClock();
    const timer = createDeadlineTimer(clock, () => assert.fail('the canceled timer fired'));
    timer.set(100);
    timer.set(Number.POSITIVE_INFINITY);
    assert.equal(clock.timerCount, 0);
    clock.advance(200);
  });
});
