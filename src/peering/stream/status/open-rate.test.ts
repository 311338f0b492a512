import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFakeClock } from '../../../../test/support/fake-clock.ts';
import { STREAM_OPENS_BURST, STREAM_OPENS_MS } from '../../limits.ts';
import { createOpenRate } from './open-rate.ts';

/** How many of so many attempts succeed at this moment. */
const takes = (take: () => boolean, attempts: number): number =>
  Array.from({ length: attempts }, take).filter(Boolean).length;

describe('how often streams are opened', () => {
  it('is a burst, then one in a time, and a burst again after a rest', () => {
    const clock = createFakeClock();
    const rate = createOpenRate(clock);
    const take = (): boolean => rate.take('p');
    assert.equal(takes(take, 100), STREAM_OPENS_BURST);
    clock.advance(STREAM_OPENS_MS);
    assert.equal(takes(take, 100), 1);
    clock.advance(10 * STREAM_OPENS_MS);
    assert.equal(takes(take, 100), 10);
    clock.advance(100 * STREAM_OPENS_MS);
    assert.equal(takes(take, 100), STREAM_OPENS_BURST);
  });

  it('is counted for each peering', () => {
    const rate = createOpenRate(createFakeClock());
    assert.equal(
      takes(() => rate.take('p'), 100),
      STREAM_OPENS_BURST,
    );
    assert.equal(
      takes(() => rate.take('q'), 100),
      STREAM_OPENS_BURST,
    );
  });
});
