import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { watchClock } from './clock-jump-detector.ts';

const HOUR_MS = 3_600_000;

test('a watched clock tells of each jump once, with its size and direction, within a second', () => {
  const clock = createFakeClock();
  const jumps: number[] = [];
  using watch = watchClock(clock, (jumpMs) => jumps.push(jumpMs));
  clock.advance(HOUR_MS);
  assert.deepEqual([jumps, watch.steadyMs()], [[], HOUR_MS]);
  clock.jump(15 * 24 * HOUR_MS);
  clock.advance(70_000);
  clock.jump(-15 * 24 * HOUR_MS);
  clock.advance(1_000);
  assert.deepEqual(jumps, [15 * 24 * HOUR_MS, -15 * 24 * HOUR_MS]);
});

test('a watched clock is steady from its start or last jump on, one of this very moment included', () => {
  const clock = createFakeClock();
  using watch = watchClock(clock, () => undefined);
  assert.equal(watch.steadyMs(), 0);
  clock.advance(HOUR_MS);
  clock.jump(2_000);
  assert.equal(watch.steadyMs(), 0);
  clock.advance(5_000);
  assert.equal(watch.steadyMs(), 5_000);
});

test('a clock that is slewed does not jump, however far it gets', () => {
  const clock = createFakeClock();
  using watch = watchClock(clock, (jumpMs) => assert.fail(`${jumpMs}`));
  for (let second = 0; second < 100; second++) {
    clock.jump(500);
    clock.advance(1_000);
  }
  assert.equal(watch.steadyMs(), 100_000);
});

test('a watch that is disposed of sets no timer any more', () => {
  const clock = createFakeClock();
  watchClock(clock, (jumpMs) => assert.fail(`${jumpMs}`))[Symbol.dispose]();
  clock.jump(HOUR_MS);
  clock.advance(HOUR_MS);
  assert.equal(clock.timers, 0);
});
