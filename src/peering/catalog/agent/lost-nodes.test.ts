import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock } from '../../../../test/support/fake-clock.ts';
import {
  type CheckJson,
  healthOf,
  mustGet,
  mustRegister,
  mustRegisterWithAgent,
} from '../../../../test/support/peering/catalog-requests.ts';
import { type Api, startApi } from '../../../../test/support/process/api.ts';
import type { State } from '../../../state/state.ts';
import { DEADLINE_POLL_MS } from '../limits.ts';
import { lostNodesJob } from './lost-nodes.ts';

interface Harness extends AsyncDisposable {
  readonly api: Api;
  /** Whether the server `a` has its lease. */
  live: boolean;
  pass(ms: number): Promise<void>;
}

/** Starts the server `a`, and the job as it runs on another server of the cluster. */
async function startHarness(): Promise<Harness> {
  const clock = createFakeClock();
  const api = await startApi({ clock });
  const stopping = new AbortController();
  const { state } = api;
  const harness = { live: true };
  const cluster: Pick<State, 'liveNodes' | 'snapshot' | 'write'> = {
    get liveNodes() {
      return state.liveNodes.filter(() => harness.live);
    },
    get snapshot() {
      return state.snapshot;
    },
    write: (fn, options) => state.write(fn, options),
  };
  const running = lostNodesJob(cluster, clock)
    .run(stopping.signal)
    .catch(() => undefined);
  return Object.assign(harness, {
    api,
    async pass(ms: number) {
      for (let left = ms; left > 0; left -= DEADLINE_POLL_MS) {
        await clock.run(Math.min(left, DEADLINE_POLL_MS));
        // Waits for the job's writes, which are queued before this one.
        await state.write(() => undefined);
      }
      await clock.run(0);
    },
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await running;
      await api[Symbol.asyncDispose]();
    },
  });
}

test('the checks of a lost server are critical until it returns and then regain their status [SVC-58]', async () => {
  await using harness = await startHarness();
  const { api } = harness;
  await api.makePartitions('eu');
  await mustRegisterWithAgent(api, { Name: 'web', Check: { TTL: '1h', Status: 'passing' } });
  await mustRegisterWithAgent(api, { Name: 'web', Check: { TTL: '1h', Status: 'warning' } }, '?partition=eu');
  await mustRegisterWithAgent(api, { Name: 'unchecked' });
  await mustRegister(api, { Node: 'other', Check: { Name: 'c', Status: 'passing' } });
  await harness.pass(2_000);
  assert.deepEqual(await healthOf(api, 'web'), ['a/web passing,passing', 'other/web passing']);

  harness.live = false;
  await harness.pass(500);
  assert.deepEqual(await healthOf(api, 'unchecked'), ['a/unchecked passing']);
  const { index } = api.state.snapshot;
  const held = await api.startBlockingQuery(`/v1/health/service/web?index=${index}`);
  await harness.pass(1_000);
  assert.equal((await held.answer).status, 200);
  assert.deepEqual(await healthOf(api, 'web'), ['a/web critical,critical', 'other/web passing']);
  assert.deepEqual(await healthOf(api, 'web', '?partition=eu'), ['a/web critical,critical']);
  assert.deepEqual(await healthOf(api, 'unchecked'), ['a/unchecked critical']);
  const checks = await mustGet<CheckJson[]>(api, '/v1/health/node/a');
  assert.deepEqual([...new Set(checks.map(({ Output }) => Output))], ['node lost']);
  const lostAt = api.state.snapshot.index;
  await harness.pass(60_000);
  assert.equal(api.state.snapshot.index, lostAt);

  harness.live = true;
  await harness.pass(200);
  assert.deepEqual(await healthOf(api, 'web'), ['a/web passing,passing', 'other/web passing']);
  assert.deepEqual(await healthOf(api, 'web', '?partition=eu'), ['a/web passing,warning']);
  assert.deepEqual(await healthOf(api, 'unchecked'), ['a/unchecked passing']);
});

test('a lease that is missing for less than the grace period changes nothing [SVC-58]', async () => {
  await using harness = await startHarness();
  await mustRegisterWithAgent(harness.api, { Name: 'web' });
  const { index } = harness.api.state.snapshot;
  for (let turn = 0; turn < 3; turn++) {
    harness.live = false;
    await harness.pass(900);
    harness.live = true;
    await harness.pass(200);
  }
  assert.equal(harness.api.state.snapshot.index, index);
});

test('removes services of a lost server after DeregisterCriticalServiceAfter and keeps those without it [SVC-59]', async () => {
  await using harness = await startHarness();
  const { api } = harness;
  const check = { TTL: '1h', Status: 'passing', DeregisterCriticalServiceAfter: '30s' };
  for (let i = 0; i < 70; i++) await mustRegisterWithAgent(api, { Name: `s${i}`, Check: check });
  await mustRegisterWithAgent(api, { Name: 'stays', Check: { TTL: '1h', Status: 'passing' } });
  harness.live = false;
  await harness.pass(25_000);
  assert.equal(Object.keys(await mustGet<object>(api, '/v1/catalog/services')).length, 71);
  await harness.pass(6_500);
  await harness.pass(200);
  assert.deepEqual(await mustGet(api, '/v1/catalog/services'), { stays: [] });
  harness.live = true;
  await harness.pass(200);
  assert.deepEqual(await healthOf(api, 'stays'), ['a/stays passing,passing']);
});
