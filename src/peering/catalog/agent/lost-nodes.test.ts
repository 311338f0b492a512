import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock } from '../../../../test/support/fake-clock.ts';
import { got, health, registered, type ShownCheck, withAgent } from '../../../../test/support/peering/catalog.ts';
import { type Api, startApi } from '../../../../test/support/process/api.ts';
import type { State } from '../../../state/state.ts';
import { DUE_LOOK_MS } from '../limits.ts';
import { lostNodesJob } from './lost-nodes.ts';

interface Rig extends AsyncDisposable {
  readonly api: Api;
  /** Whether the server `a` has its lease. */
  live: boolean;
  pass(ms: number): Promise<void>;
}

/** The job of another server, which sees this one come and go. */
async function startRig(): Promise<Rig> {
  const clock = createFakeClock();
  const api = await startApi({ clock });
  const stopping = new AbortController();
  const { state } = api;
  const rig = { live: true };
  const cluster: Pick<State, 'members' | 'snapshot' | 'write'> = {
    get members() {
      return state.members.filter(() => rig.live);
    },
    get snapshot() {
      return state.snapshot;
    },
    write: (fn, options) => state.write(fn, options),
  };
  const running = lostNodesJob(cluster, clock)
    .run(stopping.signal)
    .catch(() => undefined);
  return Object.assign(rig, {
    api,
    async pass(ms: number) {
      for (let left = ms; left > 0; left -= DUE_LOOK_MS) {
        await clock.run(Math.min(left, DUE_LOOK_MS));
        // What the job has begun is in the queue before this.
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

test('services of a server that is lost are critical until it is back, and then as they were', async () => {
  await using rig = await startRig();
  const { api } = rig;
  await api.makePartitions('eu');
  await withAgent(api, { Name: 'web', Check: { TTL: '1h', Status: 'passing' } });
  await withAgent(api, { Name: 'web', Check: { TTL: '1h', Status: 'warning' } }, '?partition=eu');
  await withAgent(api, { Name: 'unchecked' });
  await registered(api, { Node: 'other', Check: { Name: 'c', Status: 'passing' } });
  await rig.pass(2_000);
  assert.deepEqual(await health(api, 'web'), ['a/web passing,passing', 'other/web passing']);

  rig.live = false;
  await rig.pass(500);
  assert.deepEqual(await health(api, 'unchecked'), ['a/unchecked passing']);
  const { index } = api.state.snapshot;
  const held = await api.hold(`/v1/health/service/web?index=${index}`);
  await rig.pass(1_000);
  assert.equal((await held.answer).status, 200);
  assert.deepEqual(await health(api, 'web'), ['a/web critical,critical', 'other/web passing']);
  assert.deepEqual(await health(api, 'web', '?partition=eu'), ['a/web critical,critical']);
  assert.deepEqual(await health(api, 'unchecked'), ['a/unchecked critical']);
  const checks = await got<ShownCheck[]>(api, '/v1/health/node/a');
  assert.deepEqual([...new Set(checks.map(({ Output }) => Output))], ['node lost']);
  const lostAt = api.state.snapshot.index;
  await rig.pass(60_000);
  assert.equal(api.state.snapshot.index, lostAt);

  rig.live = true;
  await rig.pass(200);
  assert.deepEqual(await health(api, 'web'), ['a/web passing,passing', 'other/web passing']);
  assert.deepEqual(await health(api, 'web', '?partition=eu'), ['a/web passing,warning']);
  assert.deepEqual(await health(api, 'unchecked'), ['a/unchecked passing']);
});

test('a server that is back at once was not lost', async () => {
  await using rig = await startRig();
  await withAgent(rig.api, { Name: 'web' });
  const { index } = rig.api.state.snapshot;
  for (let turn = 0; turn < 3; turn++) {
    rig.live = false;
    await rig.pass(900);
    rig.live = true;
    await rig.pass(200);
  }
  assert.equal(rig.api.state.snapshot.index, index);
});

test('services of a lost server go after DeregisterCriticalServiceAfter, the others stay', async () => {
  await using rig = await startRig();
  const { api } = rig;
  const check = { TTL: '1h', Status: 'passing', DeregisterCriticalServiceAfter: '30s' };
  for (let i = 0; i < 70; i++) await withAgent(api, { Name: `s${i}`, Check: check });
  await withAgent(api, { Name: 'stays', Check: { TTL: '1h', Status: 'passing' } });
  rig.live = false;
  await rig.pass(25_000);
  assert.equal(Object.keys(await got<object>(api, '/v1/catalog/services')).length, 71);
  await rig.pass(6_500);
  await rig.pass(200);
  assert.deepEqual(await got(api, '/v1/catalog/services'), { stays: [] });
  rig.live = true;
  await rig.pass(200);
  assert.deepEqual(await health(api, 'stays'), ['a/stays passing,passing']);
});
