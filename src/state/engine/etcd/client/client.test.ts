import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RETRY_PAUSE_MS_MAX, RETRY_PAUSE_MS_MIN } from '../limits.ts';
import { retryPauseMs } from './client.ts';

test('retryPauseMs is 0 until every endpoint was tried, and then doubles up to its maximum [ETCD-4]', () => {
  const pauses = Array.from({ length: 12 }, (_, failures) => retryPauseMs(failures, 3));
  assert.deepEqual(pauses.slice(0, 6), [0, 0, 0, RETRY_PAUSE_MS_MIN, 2 * RETRY_PAUSE_MS_MIN, 4 * RETRY_PAUSE_MS_MIN]);
  assert.equal(pauses.at(-1), RETRY_PAUSE_MS_MAX);
});
