/**
 * Jumps of the wall clock while the API serves requests. Expiration times follow the wall clock. Durations such as
 * `wait` do not.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { AuditEntryJson } from '../../src/audit/read-audit.ts';
import { loadConfig } from '../../src/config.ts';
import { createLog } from '../../src/http/telemetry/log.ts';
import { backgroundJobs, logClockJump } from '../../src/main/background-jobs.ts';
import { detectClockJumps } from '../../src/state/clock/clock-jump-detector.ts';
import { createFakeClock, type FakeClock } from '../support/fake-clock.ts';
import { type Api, startApi } from '../support/process/api.ts';
import { until } from '../support/until.ts';

const START = Date.UTC(2030, 0, 1);
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

interface ApiWithJobs {
  readonly api: Api;
  readonly clock: FakeClock;
  /** The log lines about clock jumps. */
  readonly warnings: Record<string, unknown>[];
  /** All other log lines. */
  readonly others: Record<string, unknown>[];
}

/** Starts an API with a fake clock and the background jobs of a server. */
async function startWithJobs(): Promise<ApiWithJobs> {
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

const isValid = async (api: Api, token: string): Promise<boolean> =>
  (await api.request('GET', '/v1/acl/token/self', { token })).status === 200;

/**
 * Number of steps in which every job runs. In more steps, requests could time out while a commit waits for the disk.
 */
const STEPS_MAX = 10;

/** Advances the clock in steps until `condition` holds. Each step leaves real time for commits to reach the disk. */
async function advanceUntil(
  clock: FakeClock,
  what: string,
  condition: () => boolean | Promise<boolean>,
): Promise<void> {
  let steps = 0;
  await until(what, async () => {
    steps += 1;
    if (steps <= STEPS_MAX) await clock.run(500);
    return await condition();
  });
}

describe('a clock that jumps forward', () => {
  // Verifies [STATE-85] [STATE-87].
  test('expires the tokens whose time has passed, and ends their blocking queries [ACL-15, V1-79]', async () => {
    const { api, clock } = await startWithJobs();
    await using _ = api;
    const short = await api.makeToken(['operator:read@*'], { ExpirationTTL: '1h' });
    const long = await api.makeToken(['operator:read@*'], { ExpirationTTL: '72h' });
    const wait = async (token: string) => {
      const { headers } = await api.request('GET', '/v1/partitions', { token });
      return await api.startBlockingQuery(`/v1/partitions?index=${headers['x-service-index']}&wait=5m`, { token });
    };
    const expiring = await wait(short.SecretID);
    await wait(long.SecretID);
    clock.jump(DAY);
    assert.equal(await isValid(api, short.SecretID), false, 'it expires before the job deletes it');
    assert.equal(await isValid(api, long.SecretID), true);
    await advanceUntil(clock, 'the query of the expired token ends', () => api.reads.waitingCount === 1);
    assert.equal((await expiring.answer).status, 403);
    const [newest] = (await api.request('GET', '/v1/audit')).json<AuditEntryJson[]>();
    assert.deepEqual([newest?.Action, newest?.Subject], ['expire', short.AccessorID]);
    assert.equal(newest?.Time.slice(0, 10), '2030-01-02');
  });
});

describe('a clock that jumps forward for a minute', () => {
  const entries = async (api: Api): Promise<AuditEntryJson[]> =>
    (await api.request('GET', '/v1/audit?limit=100')).json<AuditEntryJson[]>();

  test('logs a warning for each jump, and removes no audit entries [SRV-85, SRV-94]', async () => {
    const { api, clock, warnings } = await startWithJobs();
    await using _ = api;
    await api.makePartitions('eu', 'us');
    clock.advance(2 * HOUR);
    const before = await entries(api);
    assert.ok(before.length > 2);
    clock.jump(15 * DAY);
    await advanceUntil(clock, 'the jump is logged', () => warnings.length > 0);
    for (let second = 0; second < 70; second++) {
      await clock.run(1_000);
      // The read is consistent, so it would see the commit of a removal.
      assert.deepEqual(await entries(api), before);
    }
    clock.jump(-15 * DAY);
    await advanceUntil(clock, 'the jump back is logged', () => warnings.length > 1);
    assert.deepEqual(await entries(api), before);
    assert.deepEqual(
      warnings.map(({ level, jumpMs, msg }) => [level, jumpMs, msg]),
      [
        ['warn', 15 * DAY, 'wall clock jumped'],
        ['warn', -15 * DAY, 'wall clock jumped'],
      ],
    );
  });

  test('removes old audit entries when no jump followed for 1 h [SRV-94]', async () => {
    const { api, clock } = await startWithJobs();
    await using _ = api;
    clock.jump(15 * DAY);
    await clock.run(HOUR / 2);
    assert.ok((await entries(api)).length > 0);
    await until('the old entries are removed', async () => {
      await clock.run(HOUR / 20);
      return (await entries(api)).length === 0;
    });
  });
});

test('a server that has run for less than 1 h warns once about overdue audit entries [SRV-94]', async () => {
  const { api, clock, others } = await startWithJobs();
  await using _ = api;
  clock.jump(16 * DAY);
  // The job may have run before the jump, and runs once a minute.
  await until('the warning is logged', async () => {
    await clock.run(10_000);
    return others.length > 0;
  });
  await clock.run(300_000);
  assert.deepEqual(
    others.map(({ level, msg }) => [level, msg]),
    [['warn', 'audit entries are past audit.retention']],
  );
});

describe('a clock that jumps back', () => {
  test('keeps tokens until they expire, audit entries in commit order, and indexes increasing [SRV-89]', async () => {
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
      'the order is by commit, not by time',
    );
    const remaining = async (): Promise<boolean[]> =>
      await Promise.all([before, after].map(({ SecretID }) => isValid(api, SecretID)));
    assert.deepEqual(await remaining(), [true, true]);
    clock.advance(HOUR);
    assert.deepEqual(await remaining(), [true, false]);
    clock.advance(DAY);
    assert.deepEqual(await remaining(), [false, false]);
    await advanceUntil(clock, 'both tokens are removed', async () => {
      const entries = (await api.request('GET', '/v1/audit?limit=2')).json<AuditEntryJson[]>();
      return entries.every(({ Action }) => Action === 'expire');
    });
  });
});

for (const [direction, jumpMs] of [
  ['forward', DAY],
  ['back', -DAY],
] as const) {
  test(`a clock that jumps ${direction} does not change the duration of wait [V1-71, STATE-87]`, async () => {
    const { api, clock } = await startWithJobs();
    await using _ = api;
    const { headers } = await api.request('GET', '/v1/partitions');
    const { answer } = await api.startBlockingQuery(`/v1/partitions?index=${headers['x-service-index']}&wait=10s`);
    clock.jump(jumpMs);
    await clock.run(9_000);
    assert.equal(api.reads.waitingCount, 1);
    await clock.run(1_000);
    assert.equal(api.reads.waitingCount, 0);
    assert.equal((await answer).status, 200);
  });
}
