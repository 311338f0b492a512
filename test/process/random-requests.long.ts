/** `random-requests.test.ts` with a million requests: 50 servers one after the other, on both engines, in one process. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type ApiSettings, startApi } from '../support/process/api.ts';
import { startEtcd } from '../support/process/etcd.ts';
import { sendRandomRequests } from '../support/process/random-requests.ts';
import { etcdStore } from '../support/state/store.ts';

const ROUNDS = 50;
const REQUESTS = 20_000;
/** The first rounds fill caches and compile code. */
const WARM_ROUNDS = 5;
/** The least memory after so many rounds is compared, because a single collection can leave garbage of any size. */
const COMPARED_ROUNDS = 10;
const GROWTH_BYTES_MAX = 8 * 1024 * 1024;

/** Settings of the servers in turn. */
const VARIANTS: readonly ApiSettings[] = [
  {},
  { consul: true, policy: { defaultPolicy: 'allow' } },
  { terraform: true, rateLimit: 200, ratePerToken: 2_000 },
];

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

test(`${ROUNDS * REQUESTS} random requests cause no 5xx, and memory does not grow [V1-51, SRV-59]`, async () => {
  const bytes: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await sendRound(round);
    collectGarbage();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    bytes.push(heapUsed + arrayBuffers);
  }
  const warm = Math.min(...bytes.slice(WARM_ROUNDS, WARM_ROUNDS + COMPARED_ROUNDS));
  const growth = Math.min(...bytes.slice(-COMPARED_ROUNDS)) - warm;
  assert.ok(growth < GROWTH_BYTES_MAX, `the memory grew by ${growth} bytes: ${bytes.join(' ')}`);
});

/** Sends the requests of one round, on SQLite in even rounds and on etcd in odd ones. */
async function sendRound(round: number): Promise<void> {
  await using stack = new AsyncDisposableStack();
  const settings = VARIANTS[round % VARIANTS.length];
  const store = round % 2 === 0 ? undefined : stack.use(await etcdStore(stack.use(await startEtcd())));
  const api = stack.use(await startApi({ ...settings, ...(store && { engine: store.engine() }) }));
  await sendRandomRequests(api, round, REQUESTS);
  assert.deepEqual(api.log().match(/.*"level":"(error|warn|fatal)".*/g) ?? [], []);
}
