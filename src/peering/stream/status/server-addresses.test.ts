import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFakeClock } from '../../../../test/support/fake-clock.ts';
import { statusState } from '../../../../test/support/state/status-state.ts';
import { ADDRESSES_MAX } from '../../limits.ts';
import { followServerAddresses } from './server-addresses.ts';

const SLOT = 'peering-addresses';

describe('the addresses of the servers', () => {
  it('are those of this one first, then those of the others by name, each once', () => {
    const { state, publishFrom, published } = statusState();
    publishFrom('c', SLOT, ['c:1', 'shared:1']);
    publishFrom('b', SLOT, ['b:1', 'shared:1']);
    using addresses = followServerAddresses(state, createFakeClock(), ['a:1']);
    assert.deepEqual(addresses.current(), ['a:1', 'b:1', 'shared:1', 'c:1']);
    assert.deepEqual(published.get(SLOT), ['a:1']);
  });

  it('are looked at again when a server comes or goes, and now and then', () => {
    const { state, publishFrom, setLiveNodes } = statusState();
    const clock = createFakeClock();
    using addresses = followServerAddresses(state, clock, ['a:1']);
    let told = 0;
    const forget = addresses.onChange(() => {
      told += 1;
    });
    publishFrom('b', SLOT, ['b:1']);
    setLiveNodes('a', 'b');
    assert.equal(told, 1);
    setLiveNodes('a', 'b');
    assert.equal(told, 1, 'nothing has changed');
    publishFrom('b', SLOT, ['b:2']);
    clock.advance(10_000);
    assert.equal(told, 2);
    assert.deepEqual(addresses.current(), ['a:1', 'b:2']);
    forget();
    publishFrom('b', SLOT, ['b:3']);
    clock.advance(10_000);
    assert.equal(told, 2);
  });

  it('are no more than a dialer tries', () => {
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

  it('are not looked at any more when that is disposed', () => {
    const clock = createFakeClock();
    followServerAddresses(statusState().state, clock, ['a:1'])[Symbol.dispose]();
    assert.equal(clock.timers, 0);
  });
});
