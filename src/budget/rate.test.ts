import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFakeClock } from '../../test/support/fake-clock.ts';
import { createRate, type Rate, type RateLimits } from './rate.ts';

const takeAll = (rate: Rate, key: string): number => {
  for (let taken = 0; ; taken++) if (rate.take(key) > 0) return taken;
};

describe('a rate', () => {
  const open = (limits: RateLimits, keysMax?: number) => {
    const clock = createFakeClock();
    return { clock, rate: createRate({ name: 'test', bound: 'token', limits, clock, keysMax: keysMax ?? 100 }) };
  };

  it('allows the burst at once, and then its rate', () => {
    const { clock, rate } = open({ perSecond: 10, burst: 30 });
    assert.equal(takeAll(rate, 'a'), 30);
    clock.advance(1_000);
    assert.equal(takeAll(rate, 'a'), 10);
    clock.advance(60_000);
    assert.equal(takeAll(rate, 'a'), 30);
    assert.deepEqual([...rate.refused], [['token', 3]]);
  });

  it('returns the time until the amount is available, and takes nothing', () => {
    const { clock, rate } = open({ perSecond: 10 });
    assert.equal(takeAll(rate, 'a'), 10);
    const waitMs = rate.take('a', 2);
    assert.equal(Math.round(waitMs), 200);
    clock.advance(199);
    assert.ok(rate.take('a', 2) > 0);
    clock.advance(1);
    assert.equal(rate.take('a', 2), 0);
  });

  it('takes an amount above the burst from a full bucket, and delays the next', () => {
    const { clock, rate } = open({ perSecond: 10 });
    assert.equal(rate.take('a', 50), 0);
    clock.advance(4_000);
    assert.ok(rate.take('a') > 0);
    clock.advance(101);
    assert.equal(rate.take('a'), 0);
  });

  it('counts each key separately, and forgets the key that was used the longest ago', () => {
    const { rate } = open({ perSecond: 1 }, 4);
    assert.equal(takeAll(rate, 'old'), 1);
    for (let i = 0; i < 20; i++) {
      assert.equal(rate.take(`key ${i}`), 0);
      if (i < 4) assert.ok(rate.take('old') > 0, `after ${i + 1} other keys`);
    }
    assert.equal(rate.take('old'), 0);
    assert.ok(rate.take('key 19') > 0);
  });

  it('is off at 0, and follows changes of its limits', () => {
    const limits = { perSecond: 0 };
    const { rate } = open(limits);
    for (let i = 0; i < 1_000; i++) assert.equal(rate.take('a'), 0);
    limits.perSecond = 5;
    assert.equal(takeAll(rate, 'a'), 5);
    assert.deepEqual(rate.measure(), [{ bound: 'token', max: 5 }]);
  });

  it('allows exactly the burst, whatever fraction of a millisecond a unit takes', () => {
    for (const perSecond of [3, 7, 30, 333, 3_000]) {
      const { rate } = open({ perSecond });
      assert.equal(takeAll(rate, 'a'), perSecond);
    }
  });
});
