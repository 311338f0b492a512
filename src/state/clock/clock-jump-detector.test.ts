import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { detectClockJumps } from './clock-jump-detector.ts';

const HOUR_MS = 3_600_000;

describe('detectClockJumps', () => {
  it('reports each jump once within a second, with its size and direction [STATE-88]', () => {
    const clock = createFakeClock();
    const jumps: number[] = [];
    using detector = detectClockJumps(clock, (jumpMs) => jumps.push(jumpMs));
    clock.advance(HOUR_MS);
    assert.deepEqual([jumps, detector.steadyMs()], [[], HOUR_MS]);
    clock.jump(15 * 24 * HOUR_MS);
    clock.advance(70_000);
    clock.jump(-15 * 24 * HOUR_MS);
    clock.advance(1_000);
    assert.deepEqual(jumps, [15 * 24 * HOUR_MS, -15 * 24 * HOUR_MS]);
  });

  it('measures the steady time since the start or the last jump, a jump of this moment included', () => {
    const clock = createFakeClock();
    using detector = detectClockJumps(clock, () => undefined);
    assert.equal(detector.steadyMs(), 0);
    clock.advance(HOUR_MS);
    clock.jump(2_000);
    assert.equal(detector.steadyMs(), 0);
    clock.advance(5_000);
    assert.equal(detector.steadyMs(), 5_000);
  });

  it('reports no jump of a clock that is slewed, however far [STATE-88]', () => {
    const clock = createFakeClock();
    using detector = detectClockJumps(clock, (jumpMs) => assert.fail(`${jumpMs}`));
    for (let second = 0; second < 100; second++) {
      clock.jump(500);
      clock.advance(1_000);
    }
    assert.equal(detector.steadyMs(), 100_000);
  });

  it('leaves no timer behind when disposed', () => {
    const clock = createFakeClock();
    detectClockJumps(clock, (jumpMs) => assert.fail(`${jumpMs}`))[Symbol.dispose]();
    clock.jump(HOUR_MS);
    clock.advance(HOUR_MS);
    assert.equal(clock.timerCount, 0);
  });
});
