import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock } from '../../../../../test/support/fake-clock.ts';
import { RESERVED_WAIT_MS, TICKET_WAIT_MS } from '../limits.ts';
import { createCommitFairness } from './commit-fairness.ts';

const signal = new AbortController().signal;
const ticket = (created: bigint, changed = created) => ({ created, changed });

/** Whether `promise` settles before the next turn of the event loop. */
async function settled(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol('pending');
  const later = new Promise((resolve) => setImmediate(resolve, pending));
  return (await Promise.race([promise, later])) !== pending;
}

test('mustWait is true only while another node has an older ticket [ETCD-40]', () => {
  const fairness = createCommitFairness('a', createFakeClock());
  assert.equal(fairness.mustWait(), false);
  fairness.observe('b', ticket(7n));
  assert.equal(fairness.mustWait(), true);
  fairness.observe('a', ticket(5n));
  assert.equal(fairness.mustWait(), false);
  fairness.observe('c', ticket(3n));
  assert.equal(fairness.mustWait(), true);
});

test('wait ends when the last older ticket is deleted [ETCD-40]', async () => {
  const fairness = createCommitFairness('a', createFakeClock());
  fairness.observe('b', ticket(1n));
  fairness.observe('c', ticket(2n));
  const waiting = fairness.wait(signal);
  fairness.observe('b', undefined);
  assert.equal(await settled(waiting), false);
  fairness.observe('c', undefined);
  assert.equal(await settled(waiting), true);
});

test('wait ignores a ticket after it ran out, until the ticket is renewed [ETCD-40] [ETCD-41]', async () => {
  const clock = createFakeClock();
  const fairness = createCommitFairness('a', clock);
  fairness.observe('b', ticket(1n));
  const waiting = fairness.wait(signal);
  clock.advance(TICKET_WAIT_MS - 1);
  assert.equal(await settled(waiting), false);
  clock.advance(1);
  assert.equal(await settled(waiting), true);
  assert.equal(fairness.mustWait(), false);
  fairness.observe('b', ticket(1n, 9n));
  assert.equal(fairness.mustWait(), true);
});

test('wait takes longer for a ticket that reserves the turn [ETCD-92]', async () => {
  const clock = createFakeClock();
  const fairness = createCommitFairness('a', clock);
  fairness.observe('b', { ...ticket(1n), reserves: true });
  const waiting = fairness.wait(signal);
  clock.advance(TICKET_WAIT_MS);
  assert.equal(await settled(waiting), false);
  clock.advance(RESERVED_WAIT_MS - TICKET_WAIT_MS);
  assert.equal(await settled(waiting), true);
  assert.equal(fairness.mustWait(), false);
});

test('wait ends when its signal aborts', async () => {
  const fairness = createCommitFairness('a', createFakeClock());
  fairness.observe('b', ticket(1n));
  const abort = new AbortController();
  const waiting = fairness.wait(abort.signal);
  abort.abort();
  assert.equal(await settled(waiting), true);
});
