import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFakeClock } from '../../../../test/support/fake-clock.ts';
import { BACKOFF_MS_MIN, OPEN_RECORD_BYTES, STREAM_OPENS_BURST } from '../../limits.ts';
import { createOpenRate } from './open-rate.ts';

/** Returns how many of the attempts succeed now. */
const takes = (take: () => boolean, attempts: number): number =>
  Array.from({ length: attempts }, take).filter(Boolean).length;

describe('open rate', () => {
  it('allows a burst, then one stream per interval, and a full burst after a pause [STREAM-29]', () => {
    const clock = createFakeClock();
    const rate = createOpenRate(clock);
    const take = (): boolean => rate.tryAcquire('p', 0);
    assert.equal(takes(take, 100), STREAM_OPENS_BURST);
    clock.advance(BACKOFF_MS_MIN);
    assert.equal(takes(take, 100), 1);
    clock.advance(10 * BACKOFF_MS_MIN);
    assert.equal(takes(take, 100), 10);
    clock.advance(100 * BACKOFF_MS_MIN);
    assert.equal(takes(take, 100), STREAM_OPENS_BURST);
  });

  it('counts the stream of a large record as several [STREAM-29]', () => {
    const rate = createOpenRate(createFakeClock());
    assert.equal(
      takes(() => rate.tryAcquire('p', 3 * OPEN_RECORD_BYTES), 100),
      STREAM_OPENS_BURST / 4,
    );
  });

  it('counts each peering separately', () => {
    const rate = createOpenRate(createFakeClock());
    assert.equal(
      takes(() => rate.tryAcquire('p', 0), 100),
      STREAM_OPENS_BURST,
    );
    assert.equal(
      takes(() => rate.tryAcquire('q', 0), 100),
      STREAM_OPENS_BURST,
    );
  });
});
