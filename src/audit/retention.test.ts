import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock } from '../../test/support/fake-clock.ts';
import { openState } from '../../test/support/state/state.ts';
import { temporaryDirectory } from '../../test/support/temporary-directory.ts';
import { until } from '../../test/support/until.ts';
import type { Clock } from '../state/clock/clock.ts';
import { sqliteEngine } from '../state/engine/sqlite/engine.ts';
import type { State } from '../state/state.ts';
import { defineSchema } from '../state/table.ts';
import { OVERDUE_MS, STEADY_MS_MIN } from './limits.ts';
import { auditLog, recordChange, SYSTEM } from './record.ts';
import { auditRetentionJob } from './retention.ts';

const HOUR_MS = 3_600_000;

const record = (state: State, subject: string): Promise<void> =>
  state.write((tx) =>
    recordChange(tx, SYSTEM, {
      action: 'create',
      type: 'thing',
      subject,
      partition: 'default',
      before: null,
      after: {},
    }),
  );

async function subjects(state: State): Promise<string[]> {
  const rows = await state.scan(auditLog, { limit: 10_000 }, new AbortController().signal);
  return rows.map(({ row }) => row.subject);
}

test('the retention job removes exactly the entries past audit.retention', async () => {
  await using directory = await temporaryDirectory();
  const clock = createFakeClock();
  await using state = await openState(sqliteEngine({ directory: directory.path }), {
    schema: defineSchema([auditLog]),
    clock,
  });
  const old = Array.from({ length: 250 }, (_, i) => `old ${i}`);
  await Promise.all(old.map((subject) => record(state, subject)));
  clock.advance(HOUR_MS / 2);
  await record(state, 'young');
  // Time may only advance while the job sleeps, because the job ignores time that passes during a scan.
  let asleep = false;
  const after: Clock['after'] = (ms, callback) => {
    asleep = true;
    return clock.after(ms, () => {
      asleep = false;
      callback();
    });
  };
  const isAsleep = () => until('the job sleeps', () => asleep);
  const waking = { now: clock.now, monotonic: clock.monotonic, after };
  state.addJob(auditRetentionJob(state, { clock: waking, steadyMs: () => HOUR_MS, retentionMs: HOUR_MS }));
  await isAsleep();
  // A whole round over a young log removes nothing.
  await clock.run(HOUR_MS / 4);
  await isAsleep();
  assert.equal((await subjects(state)).length, 251);
  clock.advance(HOUR_MS / 4 + 120_000);
  await until('the old entry is removed', async () => (await subjects(state)).length === 1);
  assert.deepEqual(await subjects(state), ['young']);
  await isAsleep();
  clock.advance(HOUR_MS / 2);
  await until('everything is old', async () => (await subjects(state)).length === 0);
});

test('the retention job reports once that entries are a day overdue while the clock is not steady', async () => {
  await using directory = await temporaryDirectory();
  const clock = createFakeClock();
  const schema = defineSchema([auditLog]);
  await using state = await openState(sqliteEngine({ directory: directory.path }), { schema, clock });
  await record(state, 'old');
  let scans = 0;
  const scan = state.scan.bind(state);
  state.scan = async (table, range, signal) => {
    const rows = await scan(table, range, signal);
    scans += 1;
    return rows;
  };
  /** Waits until the job has scanned the log this many times. */
  const look = async (times: number): Promise<void> => {
    const wanted = scans + times;
    await until('the job looks', async () => {
      await clock.run(10_000);
      return scans >= wanted;
    });
  };
  let steadyMs = 0;
  let told = 0;
  const onHeldBack = (): void => {
    told += 1;
  };
  state.addJob(
    auditRetentionJob(state, { clock, steadyMs: () => steadyMs, retentionMs: HOUR_MS, onOverdue: onHeldBack }),
  );
  clock.advance(HOUR_MS + OVERDUE_MS / 2);
  await look(3);
  assert.equal(told, 0, 'not in the hour after a usual start');
  clock.advance(OVERDUE_MS / 2);
  await look(3);
  assert.equal(told, 1);
  assert.deepEqual(await subjects(state), ['old']);
  steadyMs = STEADY_MS_MIN;
  await look(1);
  await until('the old entry is removed', async () => (await subjects(state)).length === 0);
  assert.equal(told, 1);
});
