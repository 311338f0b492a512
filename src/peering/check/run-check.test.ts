import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { ServiceError } from '../../http/errors.ts';
import { CHECKS_IN_PARALLEL_MAX } from './limits.ts';
import { createCheckRunner } from './run-check.ts';

const stays = new AbortController().signal;

test('aborts the signal at the timeout and returns the result of the check', async () => {
  const clock = createFakeClock();
  const runner = createCheckRunner(clock, 10_000);
  const running = runner.run(stays, async (signal) => {
    await once(signal, 'abort');
    return 'found';
  });
  clock.advance(10_000);
  assert.equal(await running, 'found');
  assert.equal(clock.timerCount, 0);
});

test('rejects when the client disconnects', async () => {
  const caller = new AbortController();
  const runner = createCheckRunner(createFakeClock(), 10_000);
  const running = runner.run(caller.signal, async (signal) => {
    await once(signal, 'abort');
    return 'found';
  });
  caller.abort();
  await assert.rejects(running, (error) => error instanceof ServiceError && error.code === 'unavailable');
});

test('limits the checks that run in parallel [PEER-100]', async () => {
  const clock = createFakeClock();
  const runner = createCheckRunner(clock, 10_000);
  const waiting = Array.from({ length: CHECKS_IN_PARALLEL_MAX }, () =>
    runner.run(stays, (signal) => once(signal, 'abort').then(() => Promise.reject(new Error('failed')))),
  );
  await assert.rejects(
    runner.run(stays, () => Promise.resolve()),
    (error) => error instanceof ServiceError && error.code === 'rate-limited' && error.retryAfterSeconds === 10,
  );
  const ended = Promise.allSettled(waiting);
  clock.advance(10_000);
  await ended;
  assert.equal(await runner.run(stays, () => Promise.resolve('room')), 'room');
});
