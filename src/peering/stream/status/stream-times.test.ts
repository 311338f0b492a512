import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFakeClock } from '../../../../test/support/fake-clock.ts';
import { statusState } from '../../../../test/support/state/status-state.ts';
import { createStreamTimes } from './stream-times.ts';

const SLOT = 'peering-streams-0';
const PUBLISH_MS = 5_000;
const nothing = (): void => undefined;

describe('stream times', () => {
  it('change at once on this server, and a heartbeat also counts as a receipt [PEER-16]', () => {
    const clock = createFakeClock(1_000_000);
    const { state } = statusState();
    using times = createStreamTimes(state, clock, nothing);
    assert.equal(times.of('p'), undefined);
    times.sent('p');
    assert.deepEqual(times.of('p'), { sendMs: 1_000_000 });
    clock.advance(10);
    times.received('p', 'heartbeat');
    clock.advance(10);
    times.received('p', 'response');
    assert.deepEqual(times.of('p'), { heartbeatMs: 1_000_010, receiveMs: 1_000_020, sendMs: 1_000_000 });
  });

  it('are published when they change, with 256 streams in one row [PEER-17] [ETCD-79]', () => {
    const clock = createFakeClock(1_000_000);
    const { state, rows, published } = statusState();
    using times = createStreamTimes(state, clock, nothing);
    const ids = Array.from({ length: 257 }, (_, i) => `p${i}`);
    for (const id of ids) {
      rows.add(id);
      times.sent(id);
    }
    clock.advance(PUBLISH_MS);
    assert.deepEqual([...published.keys()], [SLOT, 'peering-streams-1']);
    assert.deepEqual(Object(published.get('peering-streams-1')), { p256: [0, 0, 1_000_000] });
    const row = published.get(SLOT);
    times.received('p256', 'request');
    clock.advance(PUBLISH_MS);
    assert.equal(published.get(SLOT), row, 'a row in which nothing has changed is not published again');
    assert.deepEqual(Object(published.get('peering-streams-1')).p256, [0, 1_000_000 + PUBLISH_MS, 1_000_000]);
  });

  it('are the newest times of any server', () => {
    const { state, publishFrom, setLiveNodes } = statusState();
    using times = createStreamTimes(state, createFakeClock(1_000_000), nothing);
    setLiveNodes('a', 'b', 'c');
    publishFrom('b', SLOT, { p: [2_000_000, 3_000_000, 5] });
    publishFrom('c', 'peering-streams-1', { p: [4_000_000, 0, 0] });
    publishFrom('c', SLOT, { q: [9, 9, 9] });
    times.sent('p');
    assert.deepEqual(times.of('p'), { heartbeatMs: 4_000_000, receiveMs: 3_000_000, sendMs: 1_000_000 });
  });

  it('are removed with their peering', () => {
    const clock = createFakeClock(1_000_000);
    const { state, rows, published } = statusState();
    const removed: string[] = [];
    using times = createStreamTimes(state, clock, (id) => removed.push(id));
    rows.add('p').add('q');
    times.sent('p');
    times.sent('q');
    clock.advance(PUBLISH_MS);
    rows.delete('p');
    clock.advance(PUBLISH_MS);
    assert.deepEqual(removed, ['p']);
    assert.equal(times.of('p'), undefined);
    assert.deepEqual(published.get(SLOT), { q: [0, 0, 1_000_000] });
  });

  it('have a new tick after a change, at most once a second', () => {
    const clock = createFakeClock(1_000_000);
    const { state } = statusState();
    using times = createStreamTimes(state, clock, nothing);
    times.sent('p');
    const { tick } = times;
    times.sent('p');
    assert.equal(times.tick, tick);
    clock.advance(1_000);
    assert.notEqual(times.tick, tick);
    const later = times.tick;
    clock.advance(1_000);
    assert.equal(times.tick, later, 'nothing has changed');
  });
});
