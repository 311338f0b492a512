import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFakeClock } from '../../../../test/support/fake-clock.ts';
import { statusState } from '../../../../test/support/state/status-state.ts';
import { ADDRESSES_MAX } from '../../limits.ts';
import { followServerAddresses } from './server-addresses.ts';

const SLOT = 'peering-addresses';

describe('server addresses', () => {
  it("are this server's own first, then those of the others in order of name, without duplicates", () => {
    const { state, publishFrom, published } = statusState();
    publishFrom('c', SLOT, ['c:1', 'shared:1']);
    publishFrom('b', SLOT, ['b:1', 'shared:1']);
    using addresses = followServerAddresses(state, createFakeClock(), ['a:1']);
    assert.deepEqual(addresses.current(), ['a:1', 'b:1', 'shared:1', 'c:1']);
    assert.deepEqual(published.get(SLOT), ['a:1']);
  });

  it('are refreshed when the live servers change, and every ten seconds', () => {
    const { state, publishFrom, setLiveNodes } = statusState();
    const clock = createFakeClock();
    using addresses = followServerAddresses(state, clock, ['a:1']);
    let changes = 0;
    const removeListener = addresses.onChange(() => {
      changes += 1;
    });
    publishFrom('b', SLOT, ['b:1']);
    setLiveNodes('a', 'b');
    assert.equal(changes, 1);
    setLiveNodes('a', 'b');
    assert.equal(changes, 1, 'nothing has changed');
    publishFrom('b', SLOT, ['b:2']);
    clock.advance(10_000);
    assert.equal(changes, 2);
    assert.deepEqual(addresses.current(), ['a:1', 'b:2']);
    removeListener();
    publishFrom('b', SLOT, ['b:3']);
    clock.advance(10_000);
    assert.equal(changes, 2);
  });

  it('are limited to ADDRESSES_MAX [STREAM-71]', () => {
    const { state, publishFrom } = statusState();
    publishFrom(
      'b',
      SLOT,
      Array.from({ length: 10_000 }, (_, i) => `b:${i}`),
    );
    using addresses = followServerAddresses(state, createFakeClock(), ['a:1']);
    assert.equal(addresses.current().length, ADDRESSES_MAX);
    assert.equal(addresses.current()[0], 'a:1');
  });

  it('are not refreshed after disposal', () => {
    const clock = createFakeClock();
    followServerAddresses(statusState().state, clock, ['a:1'])[Symbol.dispose]();
    assert.equal(clock.timerCount, 0);
  });
});
