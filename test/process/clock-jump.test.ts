/** A machine whose clock is set while it serves: what has an end by the clock ends by it, what takes a time takes it. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AuditEntryJson } from '../../src/audit/read-audit.ts';
import { loadConfig } from '../../src/config.ts';
import { createLog } from '../../src/http/telemetry/log.ts';
import { backgroundJobs } from '../../src/main/background-jobs.ts';
import { logClockJump } from '../../src/main/clock-jump.ts';
import { detectClockJumps } from '../../src/state/clock/clock-jump-detector.ts';
import { createFakeClock, type FakeClock } from '../support/fake-clock.ts';
import { type Api, startApi } from '../support/process/api.ts';
import { until } from '../support/until.ts';

const START = Date.UTC(2030, 0, 1);
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

interface Watched {
  readonly api: Api;
  readonly clock: FakeClock;
  /** What was logged of jumps of the clock. */
  readonly warnings: Record<string, unknown>[];
  /** What was logged besides. */
  readonly others: Record<string, unknown>[];
}

/** An API with the jobs of a server, on a clock that the test sets. */
async function startWithJobs(): Promise<Watched> {
  const clock = createFakeClock(START);
  const api = await startApi({ clock });
  const host = { name: 'a', isTerminal: false };
  const { config } = await loadConfig({ flags: new Map(), configFile: undefined, environment: {}, host });
  const warnings: Record<string, unknown>[] = [];
  const others: Record<string, unknown>[] = [];
  const write = (text: string): void => {
    const line = JSON.parse(text) as Record<string, unknown>;
    (line['jumpMs'] === undefined ? others : warnings).push(line);
  };
  const destination = { write };
  const log = createLog({ level: 'info', format: 'json', destination });
  const clockWatch = detectClockJumps(clock, (jumpMs) => logClockJump(log, jumpMs));
  for (const job of backgroundJobs({ state: api.state, clock, clockWatch, config, log })) api.state.addJob(job);
  return { api, clock, warnings, others };
}

const isGood = async (api: Api, token: string): Promise<boolean> =>
  (await api.request('GET', '/v1/acl/token/self', { token })).status === 200;

/** Steps in which every job wakes that sleeps. More would let queries and writes time out while a disk takes its time. */
const STEPS_MAX = 10;

/** Lets time pass, in steps that leave room for commits to reach the disk, until `condition` holds. */
async function passUntil(clock: FakeClock, what: string, condition: () => boolean | Promise<boolean>): Promise<void> {
  let steps = 0;
  await until(what, async () => {
    steps += 1;
    if (steps <= STEPS_MAX) await clock.run(500);
    return await condition();
  });
}

describe('a clock that is set forward', () => {
  test('ends tokens that were to end meanwhile, with the queries that wait with them, and no others', async () => {
    const { api, clock } = await startWithJobs();
    await using _ = api;
    const short = await api.makeToken(['operator:read@*'], { ExpirationTTL: '1h' });
    const long = await api.makeToken(['operator:read@*'], { ExpirationTTL: '72h' });
    const hold = async (token: string) => {
      const { headers } = await api.request('GET', '/v1/partitions', { token });
      return await api.hold(`/v1/partitions?index=${headers['x-service-index']}&wait=5m`, { token });
    };
    const doomed = await hold(short.SecretID);
    await hold(long.SecretID);
    clock.jump(DAY);
    assert.equal(await isGood(api, short.SecretID), false, 'it ends at once, before anything removes it');
    assert.equal(await isGood(api, long.SecretID), true);
    await passUntil(clock, 'the query of the ended token is answered', () => api.reads.waitingCount === 1);
    assert.equal((await doomed.answer).status, 403);
    const [newest] = (await api.request('GET', '/v1/audit')).json<AuditEntryJson[]>();
    assert.deepEqual([newest?.Action, newest?.Subject], ['expire', short.AccessorID]);
    assert.equal(newest?.Time.slice(0, 10), '2030-01-02');
  });
});

describe('a clock that is set forward for a minute', () => {
  const entries = async (api: Api): Promise<AuditEntryJson[]> =>
    (await api.request('GET', '/v1/audit?limit=100')).json<AuditEntryJson[]>();

  test('is told with its size, each way, and takes nothing from the audit log', async () => {
    const { api, clock, warnings } = await startWithJobs();
    await using _ = api;
    await api.makePartitions('eu', 'us');
    clock.advance(2 * HOUR);
    const before = await entries(api);
    assert.ok(before.length > 2);
    clock.jump(15 * DAY);
    await passUntil(clock, 'the jump is logged', () => warnings.length > 0);
    for (let second = 0; second < 70; second++) {
      await clock.run(1_000);
      // Through the store and back, as a removal would have gone before.
      assert.deepEqual(await entries(api), before);
    }
    clock.jump(-15 * DAY);
    await passUntil(clock, 'the jump back is logged', () => warnings.length > 1);
    assert.deepEqual(await entries(api), before);
    assert.deepEqual(
      warnings.map(({ level, jumpMs, msg }) => [level, jumpMs, msg]),
      [
        ['warn', 15 * DAY, 'wall clock jumped'],
        ['warn', -15 * DAY, 'wall clock jumped'],
      ],
    );
  });

  test('takes what is old once it has stayed there for an hour', async () => {
    const { api, clock } = await startWithJobs();
    await using _ = api;
    clock.jump(15 * DAY);
    await clock.run(HOUR / 2);
    assert.ok((await entries(api)).length > 0);
    await until('what is old is gone', async () => {
      await clock.run(HOUR / 20);
      return (await entries(api)).length === 0;
    });
  });
});

test('a server that has not run for an hour warns once of audit entries that are long past their time', async () => {
  const { api, clock, others } = await startWithJobs();
  await using _ = api;
  clock.jump(16 * DAY);
  // The job may have looked before the jump, and looks once a minute.
  await until('it is told', async () => {
    await clock.run(10_000);
    return others.length > 0;
  });
  await clock.run(300_000);
  assert.deepEqual(
    others.map(({ level, msg }) => [level, msg]),
    [['warn', 'audit entries are past audit.retention']],
  );
});

describe('a clock that is set back', () => {
  test('keeps tokens until their time, the log in the order of events, and indexes rising', async () => {
    const { api, clock } = await startWithJobs();
    await using _ = api;
    const before = await api.makeToken([], { ExpirationTTL: '1h', Description: 'before' });
    clock.jump(-DAY);
    const after = await api.makeToken([], { ExpirationTTL: '1h', Description: 'after' });
    assert.ok(after.CreateIndex > before.CreateIndex);
    assert.equal(after.CreateTime.slice(0, 10), '2029-12-31');
    const log = (await api.request('GET', '/v1/audit?limit=2')).json<AuditEntryJson[]>();
    assert.deepEqual(
      log.map(({ Subject }) => Subject),
      [after.AccessorID, before.AccessorID],
      'newest first is by events, not by times',
    );
    const remaining = async (): Promise<boolean[]> =>
      await Promise.all([before, after].map(({ SecretID }) => isGood(api, SecretID)));
    assert.deepEqual(await remaining(), [true, true]);
    clock.advance(HOUR);
    assert.deepEqual(await remaining(), [true, false]);
    clock.advance(DAY);
    assert.deepEqual(await remaining(), [false, false]);
    await passUntil(clock, 'both are removed', async () => {
      const entries = (await api.request('GET', '/v1/audit?limit=2')).json<AuditEntryJson[]>();
      return entries.every(({ Action }) => Action === 'expire');
    });
  });
});

for (const [direction, jumpMs] of [
  ['forward', DAY],
  ['back', -DAY],
] as const) {
  test(`a clock that is set ${direction} neither shortens nor prolongs a wait`, async () => {
    const { api, clock } = await startWithJobs();
    await using _ = api;
    const { headers } = await api.request('GET', '/v1/partitions');
    const { answer } = await api.hold(`/v1/partitions?index=${headers['x-service-index']}&wait=10s`);
    clock.jump(jumpMs);
    await clock.run(9_000);
    assert.equal(api.reads.waitingCount, 1);
    await clock.run(1_000);
    assert.equal(api.reads.waitingCount, 0);
    assert.equal((await answer).status, 200);
  });
}
