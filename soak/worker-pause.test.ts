import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { intentionsOf } from './kinds/intention.ts';
import { partitions } from './kinds/partition.ts';
import { createWorkerPause } from './worker-pause.ts';

describe('whilePaused', () => {
  test('pauses workers of the selected kinds until the action ends', async () => {
    const pause = createWorkerPause();
    const { signal } = new AbortController();
    const order: string[] = [];
    const action = Promise.withResolvers<void>();
    const running = pause.whilePaused(
      (kind) => kind === partitions,
      () => action.promise,
    );
    const waiting = pause.waitUntilResumed(partitions, signal).then(() => order.push('selected'));
    await pause.waitUntilResumed(intentionsOf('a', 1), signal);
    order.push('not selected');
    action.resolve();
    await Promise.all([running, waiting]);
    assert.deepEqual(order, ['not selected', 'selected']);
  });

  test('resumes a worker whose signal aborts', async () => {
    const pause = createWorkerPause();
    const stopping = new AbortController();
    const action = Promise.withResolvers<void>();
    const running = pause.whilePaused(
      () => true,
      () => action.promise,
    );
    const waiting = pause.waitUntilResumed(partitions, stopping.signal);
    stopping.abort();
    await waiting;
    action.resolve();
    await running;
  });
});
