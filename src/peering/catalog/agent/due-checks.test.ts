import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock, type FakeClock } from '../../../../test/support/fake-clock.ts';
import {
  type CheckJson,
  healthOf,
  mustDeregister,
  mustGet,
  mustRegister,
  mustRegisterWithAgent,
} from '../../../../test/support/peering/catalog-requests.ts';
import { type Api, startApi } from '../../../../test/support/process/api.ts';
import { temporaryDirectory } from '../../../../test/support/temporary-directory.ts';
import { sqliteEngine } from '../../../state/engine/sqlite/engine.ts';
import { DEADLINE_POLL_MS } from '../limits.ts';
import { TTL_EXPIRED_OUTPUT } from '../tables/check.ts';
import { ttlChecks } from '../tables/ttl-check.ts';
import { dueChecksJob } from './due-checks.ts';

/** Advances the clock and waits for the writes of the job. */
async function pass(api: Api, clock: FakeClock, ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= DEADLINE_POLL_MS) {
    await clock.run(Math.min(left, DEADLINE_POLL_MS));
    // Waits for the job's writes, which are queued before this one.
    await api.state.write(() => undefined);
  }
  await clock.run(0);
}

async function withJob(clock: FakeClock): Promise<Api> {
  const api = await startApi({ clock });
  api.state.addJob(dueChecksJob(api.state, clock));
  return api;
}

const report = async (api: Api, word: string, check: string): Promise<void> => {
  const answer = await api.request('PUT', `/v1/agent/check/${word}/${check}`);
  assert.equal(answer.status, 200, answer.text);
};

test('a check that is not renewed within its TTL becomes critical until the next report [SVC-51] [SVC-53]', async () => {
  const clock = createFakeClock();
  await using api = await withJob(clock);
  await mustRegisterWithAgent(api, { Name: 'web', Check: { TTL: '10s', Status: 'passing' } });
  await pass(api, clock, 9_900);
  assert.deepEqual(await healthOf(api, 'web'), ['a/web passing,passing']);
  await report(api, 'pass', 'service:web');
  await pass(api, clock, 9_900);
  assert.deepEqual(await healthOf(api, 'web'), ['a/web passing,passing']);
  await pass(api, clock, 200);
  assert.deepEqual(await healthOf(api, 'web'), ['a/web passing,critical']);
  const { 'service:web': check } = await mustGet<Record<string, CheckJson>>(api, '/v1/agent/checks');
  assert.equal(check?.Output, TTL_EXPIRED_OUTPUT);
  await pass(api, clock, 60_000);
  await report(api, 'warn', 'service:web');
  assert.deepEqual(await healthOf(api, 'web'), ['a/web passing,warning']);
  await pass(api, clock, 10_100);
  assert.deepEqual(await healthOf(api, 'web'), ['a/web passing,critical']);
});

test('a blocking query wakes when the check of its service expires', async () => {
  const clock = createFakeClock();
  await using api = await withJob(clock);
  await mustRegisterWithAgent(api, { Name: 'web', Check: { TTL: '1s', Status: 'passing' } });
  const held = await api.startBlockingQuery(`/v1/health/service/web?index=${api.state.snapshot.index}`);
  await pass(api, clock, 1_100);
  assert.equal((await held.answer).json<{ Checks: CheckJson[] }[]>()[0]?.Checks[1]?.Status, 'critical');
});

test('removes a service after its check was critical for DeregisterCriticalServiceAfter [SVC-54]', async () => {
  const clock = createFakeClock();
  await using api = await withJob(clock);
  const check = { TTL: '10s', DeregisterCriticalServiceAfter: '30s' };
  await mustRegisterWithAgent(api, { Name: 'runs-out', Check: { ...check, Status: 'passing' } });
  await mustRegisterWithAgent(api, { Name: 'fails', Check: { ...check, Status: 'passing' } });
  await mustRegisterWithAgent(api, { Name: 'begins', Check: check });
  await mustRegisterWithAgent(api, { Name: 'stays', Check: { TTL: '10s', Status: 'passing' } });
  await report(api, 'fail', 'service:fails');
  const left = async (): Promise<string[]> => Object.keys(await mustGet<object>(api, '/v1/catalog/services'));
  await pass(api, clock, 15_000);
  // Neither a repeated failure nor a repeated registration restarts the time.
  await report(api, 'fail', 'service:fails');
  await mustRegisterWithAgent(api, { Name: 'begins', Check: check });
  await pass(api, clock, 14_900);
  assert.deepEqual(await left(), ['begins', 'fails', 'runs-out', 'stays']);
  await pass(api, clock, 200);
  assert.deepEqual(await left(), ['runs-out', 'stays']);
  await pass(api, clock, 9_700);
  assert.deepEqual(await left(), ['runs-out', 'stays']);
  await pass(api, clock, 300);
  assert.deepEqual(await left(), ['stays']);
  assert.equal(api.state.snapshot.all(ttlChecks).length, 1);
});

test('keeps a service whose check recovers in time [SVC-54]', async () => {
  const clock = createFakeClock();
  await using api = await withJob(clock);
  await mustRegisterWithAgent(api, { Name: 'web', Check: { TTL: '10s', DeregisterCriticalServiceAfter: '30s' } });
  await pass(api, clock, 29_000);
  await report(api, 'pass', 'service:web');
  await pass(api, clock, 9_000);
  assert.deepEqual(await healthOf(api, 'web'), ['a/web passing,passing']);
  await pass(api, clock, 30_000);
  assert.deepEqual(await healthOf(api, 'web'), ['a/web passing,critical']);
});

test('a critical status from the catalog does not remove a service early', async () => {
  const clock = createFakeClock();
  await using api = await withJob(clock);
  await mustRegisterWithAgent(api, {
    Name: 'web',
    Check: { TTL: '10s', Status: 'passing', DeregisterCriticalServiceAfter: '30s' },
  });
  const check = { CheckID: 'service:web', ServiceID: 'web', Status: 'critical' };
  await mustRegister(api, { Node: 'a', Address: '127.0.0.1', Service: undefined, Check: check });
  await pass(api, clock, 10_100);
  assert.deepEqual(await healthOf(api, 'web'), ['a/web passing,critical']);
  await pass(api, clock, 30_000);
  assert.deepEqual(await healthOf(api, 'web'), []);
});

/** Registers a status in the catalog for a check of the agent. */
const registerStatus = (api: Api, Status: string): Promise<void> =>
  mustRegister(api, {
    Node: 'a',
    Address: '127.0.0.1',
    Service: undefined,
    Check: { CheckID: 'service:web', ServiceID: 'web', Status },
  });

test('a passing status from the catalog renews the TTL like a report [SVC-55]', async () => {
  const clock = createFakeClock();
  await using api = await withJob(clock);
  await mustRegisterWithAgent(api, { Name: 'web', Check: { TTL: '20s', DeregisterCriticalServiceAfter: '6s' } });
  await pass(api, clock, 5_000);
  await registerStatus(api, 'passing');
  await pass(api, clock, 19_900);
  assert.deepEqual(await healthOf(api, 'web', '?passing'), ['a/web passing,passing']);
  await pass(api, clock, 200);
  assert.deepEqual(await healthOf(api, 'web'), ['a/web passing,critical']);
  await pass(api, clock, 6_000);
  assert.deepEqual(await healthOf(api, 'web'), []);
});

test('a passing status from the catalog before any report starts the TTL [SVC-55]', async () => {
  const clock = createFakeClock();
  await using api = await withJob(clock);
  await mustRegisterWithAgent(api, { Name: 'web', Check: { TTL: '1s' } });
  await registerStatus(api, 'passing');
  await pass(api, clock, 900);
  assert.deepEqual(await healthOf(api, 'web'), ['a/web passing,passing']);
  await pass(api, clock, 200);
  assert.deepEqual(await healthOf(api, 'web'), ['a/web passing,critical']);
});

test('a critical status from the catalog starts DeregisterCriticalServiceAfter [SVC-55]', async () => {
  const clock = createFakeClock();
  await using api = await withJob(clock);
  const check = { TTL: '1h', Status: 'passing', DeregisterCriticalServiceAfter: '6s' };
  await mustRegisterWithAgent(api, { Name: 'web', Check: check });
  await registerStatus(api, 'critical');
  await pass(api, clock, 5_900);
  assert.deepEqual(await healthOf(api, 'web'), ['a/web passing,critical']);
  await pass(api, clock, 200);
  assert.deepEqual(await healthOf(api, 'web'), []);
});

test('keeps a service whose check passes, even when its row has an expired deadline', async () => {
  const clock = createFakeClock();
  await using api = await withJob(clock);
  const check = { TTL: '10s', Status: 'passing', DeregisterCriticalServiceAfter: '30s' };
  await mustRegisterWithAgent(api, { Name: 'web', Check: check });
  await api.state.write((tx) => {
    const [stored] = tx.all(ttlChecks);
    assert.ok(stored);
    tx.put(ttlChecks, { ...stored.row, due: { atMs: tx.now, what: 'deregister' } });
  });
  await pass(api, clock, 9_000);
  assert.deepEqual(await healthOf(api, 'web'), ['a/web passing,passing']);
  await pass(api, clock, 1_200);
  assert.deepEqual(await healthOf(api, 'web'), ['a/web passing,critical']);
});

test('keeps a service with DeregisterCriticalServiceAfter 0 [SVC-54]', async () => {
  const clock = createFakeClock();
  await using api = await withJob(clock);
  for (const after of ['0s', '0']) {
    const Name = `after-${after}`;
    await mustRegisterWithAgent(api, { Name, Check: { TTL: '1s', DeregisterCriticalServiceAfter: after } });
    await pass(api, clock, 60_000);
    assert.deepEqual(await healthOf(api, Name), [`a/${Name} passing,critical`]);
    await report(api, 'pass', `service:${Name}`);
    await pass(api, clock, 60_000);
    assert.deepEqual(await healthOf(api, Name), [`a/${Name} passing,critical`]);
  }
});

test('deregistering a check or a service deletes its deadline', async () => {
  const clock = createFakeClock();
  await using api = await withJob(clock);
  const check = { TTL: '10s', Status: 'passing', DeregisterCriticalServiceAfter: '1s' };
  await mustRegisterWithAgent(api, { Name: 'one', Check: check });
  await mustRegisterWithAgent(api, { Name: 'two', Check: check });
  await mustDeregister(api, { Node: 'a', CheckID: 'service:one' });
  await mustDeregister(api, { Node: 'a', ServiceID: 'two' });
  assert.equal(api.state.snapshot.count(ttlChecks), 0);
  await pass(api, clock, 60_000);
  assert.deepEqual(await healthOf(api, 'one'), ['a/one passing']);
});

test('turns more checks critical than fit in one write', async () => {
  const clock = createFakeClock();
  await using api = await withJob(clock);
  const count = 120;
  const names = Array.from({ length: count }, (_, i) => `s${i}`);
  await Promise.all(names.map((Name) => mustRegisterWithAgent(api, { Name, Check: { TTL: '5s', Status: 'passing' } })));
  await pass(api, clock, 5_100);
  for (let turn = 0; turn < 5; turn++) await pass(api, clock, 100);
  const critical = await mustGet<CheckJson[]>(api, '/v1/health/state/critical');
  assert.equal(critical.length, count);
});

test('turns a check critical that expired while no server ran [SVC-56]', async () => {
  const clock = createFakeClock();
  await using directory = await temporaryDirectory();
  {
    await using api = await startApi({ clock, engine: sqliteEngine({ directory: directory.path }) });
    await mustRegisterWithAgent(api, { Name: 'web', Check: { TTL: '10s', Status: 'passing' } });
    await mustRegisterWithAgent(api, { Name: 'db', Check: { TTL: '1h', Status: 'passing' } });
  }
  clock.jump(600_000);
  const engine = sqliteEngine({ directory: directory.path });
  await using api = await startApi({ clock, engine, policy: { enabled: false } });
  api.state.addJob(dueChecksJob(api.state, clock));
  await pass(api, clock, 100);
  assert.deepEqual(await healthOf(api, 'web'), ['a/web passing,critical']);
  assert.deepEqual(await healthOf(api, 'db'), ['a/db passing,passing']);
});
