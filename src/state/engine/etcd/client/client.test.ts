import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RETRY_MS_MAX, RETRY_MS_MIN } from '../limits.ts';
import { retryPauseMs } from './client.ts';

test('every endpoint is tried at once, then each pause is twice the last, up to the longest', () => {
  const pauses = Array.from({ length: 12 }, (_, failures) => retryPauseMs(failures, 3));
  assert.deepEqual(pauses.slice(0, 6), [0, 0, 0, RETRY_MS_MIN, 2 * RETRY_MS_MIN, 4 * RETRY_MS_MIN]);
  assert.equal(pauses.at(-1), RETRY_MS_MAX);
});
