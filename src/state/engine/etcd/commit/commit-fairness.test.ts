import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock } from '../../../../../test/support/fake-clock.ts';
import { TURN_WAIT_MS } from '../limits.ts';
import { createTurns } from './commit-fairness.ts';

const signal = new AbortController().signal;
const ticket = (created: bigint, changed = created) => ({ created, changed });

/** Whether `promise` is settled once the promises before it have run. */
async function settled(promise: Promise<unknown>): Promise<boolean> {
  const pending = Symbol('pending');
  const later = new Promise((resolve) => setImmediate(resolve, pending));
  return (await Promise.race([promise, later])) !== pending;
}

test('a node waits for older tickets of others, not for younger ones or its own', () => {
  const turns = createTurns('a', createFakeClock());
  assert.equal(turns.mustWait(), false);
  turns.observe('b', ticket(7n));
  assert.equal(turns.mustWait(), true);
  turns.observe('a', ticket(5n));
  assert.equal(turns.mustWait(), false);
  turns.observe('c', ticket(3n));
  assert.equal(turns.mustWait(), true);
});

test('a wait ends when the last older ticket goes', async () => {
  const turns = createTurns('a', createFakeClock());
  turns.observe('b', ticket(1n));
  turns.observe('c', ticket(2n));
  const waiting = turns.wait(signal);
  turns.observe('b', undefined);
  assert.equal(await settled(waiting), false);
  turns.observe('c', undefined);
  assert.equal(await settled(waiting), true);
});

test('a ticket that was waited for in vain is passed over until it is renewed', async () => {
  const clock = createFakeClock();
  const turns = createTurns('a', clock);
  turns.observe('b', ticket(1n));
  const waiting = turns.wait(signal);
  clock.advance(TURN_WAIT_MS - 1);
  assert.equal(await settled(waiting), false);
  clock.advance(1);
  assert.equal(await settled(waiting), true);
  assert.equal(turns.mustWait(), false);
  turns.observe('b', ticket(1n, 9n));
  assert.equal(turns.mustWait(), true);
});

test('a wait ends with its signal', async () => {
  const turns = createTurns('a', createFakeClock());
  turns.observe('b', ticket(1n));
  const abort = new AbortController();
  const waiting = turns.wait(abort.signal);
  abort.abort();
  assert.equal(await settled(waiting), true);
});
