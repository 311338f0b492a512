/** `random-requests.test.ts` with a million requests: 50 servers one after the other, in one process. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { startApi } from '../support/process/api.ts';
import { sendRandomRequests } from '../support/process/random-requests.ts';

const ROUNDS = 50;
const REQUESTS = 20_000;
/** The first rounds fill caches and compile code. */
const WARM_ROUNDS = 5;
const GROWTH_BYTES_MAX = 24 * 1024 * 1024;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

test(`${ROUNDS * REQUESTS} random requests cause no 5xx, and memory does not grow [V1-51, SRV-59]`, async () => {
  let warmBytes = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    {
      await using api = await startApi();
      await sendRandomRequests(api, round, REQUESTS);
      assert.deepEqual(api.log().match(/.*"level":"(error|warn|fatal)".*/g) ?? [], []);
    }
    collectGarbage();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    const bytes = heapUsed + arrayBuffers;
    if (round === WARM_ROUNDS) warmBytes = bytes;
    assert.ok(bytes < warmBytes + GROWTH_BYTES_MAX, `${bytes} bytes after round ${round}, ${warmBytes} before`);
  }
});
