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
const WARM_ROUNDS = 7;
const GROWTH_BYTES_MAX = 24 * 1024 * 1024;

/** Settings of the servers in turn. */
const VARIANTS: readonly ApiSettings[] = [
  {},
  { consul: true, policy: { defaultPolicy: 'allow' } },
  { terraform: true, rateLimit: 200, ratePerToken: 2_000 },
];

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

test(`${ROUNDS * REQUESTS} random requests cause no 5xx, and memory does not grow [V1-51, SRV-59]`, async () => {
  let warmBytes = Number.POSITIVE_INFINITY;
  for (let round = 0; round < ROUNDS; round++) {
    await sendRound(round);
    collectGarbage();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    const bytes = heapUsed + arrayBuffers;
    if (round === WARM_ROUNDS) warmBytes = bytes;
    assert.ok(bytes < warmBytes + GROWTH_BYTES_MAX, `${bytes} bytes after round ${round}, ${warmBytes} before`);
  }
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
