/** Tests of several states on one etcd: commits, upgrades, and deaths of other nodes, and a store that went back. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { systemClock } from '../../src/state/clock/clock.ts';
import { EPOCH_STEP } from '../../src/state/engine/engine.ts';
import { isStateError } from '../../src/state/errors.ts';
import { expiryJob } from '../../src/state/jobs/expiry.ts';
import { SLICE_MS } from '../../src/state/limits.ts';
import type { State } from '../../src/state/state.ts';
import { defineSchema, defineTable } from '../../src/state/table.ts';
import { type EtcdCluster, startEtcd } from '../support/process/etcd.ts';
import { testTimeout } from '../support/state/engine-node.ts';
import { testEngine } from '../support/state/etcd-node.ts';
import { gatedEngine } from '../support/state/gated-engine.ts';
import { dumpState, openState } from '../support/state/state.ts';
import { etcdStore } from '../support/state/store.ts';
import { type Counter, counters, events, organizations, reservations, teams, tokens } from '../support/state/tables.ts';
import { skipWithout } from '../support/tools.ts';
import { until } from '../support/until.ts';

const counter = (id: string, value = 0): Counter => ({ id, value, partition: 'p' });

/** Adds one to a counter and returns the sum. */
const increment = (state: State, id: string): Promise<number> =>
  state.write((tx) => {
    const value = (tx.get(counters, id)?.row.value ?? 0) + 1;
    tx.put(counters, counter(id, value));
    return value;
  });

const sameIndex = (...states: readonly State[]): boolean =>
  new Set(states.map(({ snapshot }) => snapshot.index)).size === 1;

describe('several states on one etcd', { skip: skipWithout('etcd'), timeout: 120_000, concurrency: 3 }, () => {
  let etcd: EtcdCluster;
  before(async () => {
    etcd = await startEtcd();
  });
  after(() => etcd[Symbol.asyncDispose]());

  it('repeat a write after a conflict with the time and IDs of its first run [STATE-37]', async () => {
    await using store = await etcdStore(etcd);
    const gated = gatedEngine(store.engine());
    await using first = await openState(gated.engine, { node: 'a' });
    await using second = await openState(store.engine(), { node: 'b' });
    const runs: unknown[] = [];
    let ids = 0;
    gated.commit.close();
    const write = first.write((tx) => {
      runs.push([tx.now, tx.memoizeAcrossRetries(() => ++ids)]);
      const value = (tx.get(counters, 'n')?.row.value ?? 0) + 1;
      tx.put(counters, counter('n', value));
      return value;
    });
    await until('the first commit is held', () => gated.commit.waiting === 1);
    assert.equal(await increment(second, 'n'), 1);
    gated.commit.open();
    assert.equal(await write, 2);
    assert.equal(runs.length, 2);
    assert.deepEqual(runs[1], runs[0]);
  });

  // Verifies [ETCD-27].
  it('name the limits to raise for each write that exceeds the limits of etcd [STATE-46] [STATE-47]', async () => {
    const engine = testEngine({ endpoints: etcd.urls, prefix: 'narrow/', maxTxnOps: 5_000 });
    await using state = await openState(engine);
    const write = (name: string, rows: number): Promise<void> =>
      state.write((tx) => {
        for (let i = 0; i < rows; i++) tx.put(counters, counter(`${name} ${i}`));
      });
    const outcomes = await Promise.allSettled([write('a', 100), write('b', 200), write('c', 100)]);
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    );
    const reason = outcomes[1]?.status === 'rejected' ? outcomes[1].reason : undefined;
    assert.ok(isStateError(reason, 'too-large'));
    assert.match(reason.message, /too many operations.*--max-txn-ops.*etcd\.max-txn-ops/);
    assert.equal(state.snapshot.all(counters).length, 200);
  });

  it('lose no increment and end with the same rows [STATE-3] [STATE-9]', async () => {
    await using store = await etcdStore(etcd);
    const states = [await openState(store.engine(), { node: 'a' }), await openState(store.engine(), { node: 'b' })];
    const [first, second] = states as [State, State];
    await first.write((tx) => {
      tx.put(organizations, { id: 'o', name: 'o' });
      tx.put(organizations, { id: 'p', name: 'p' });
    });
    await Promise.all(
      states.flatMap((state, node) =>
        Array.from({ length: 60 }, async (_, i) => {
          await increment(state, `n${i % 3}`);
          await state.write(
            (tx) =>
              tx.get(organizations, 'o') &&
              tx.put(teams, { id: `${node}-${i}`, organization: 'o', name: `${node}-${i}` }),
          );
          if (i === 40 && node === 0) await state.write((tx) => tx.delete(organizations, 'o'));
        }),
      ),
    );
    await until(
      'both have caught up and dropped the orphaned rows',
      () => sameIndex(first, second) && states.every(({ snapshot }) => !snapshot.mayHaveOrphans),
    );
    assert.deepEqual(dumpState(first.snapshot), dumpState(second.snapshot));
    assert.deepEqual(
      first.snapshot.all(counters).map(({ row }) => row.value),
      [40, 40, 40],
    );
    assert.deepEqual(first.snapshot.all(teams), []);
    for (const state of states) await state[Symbol.asyncDispose]();
    await using third = await openState(store.engine(), { node: 'c' });
    assert.deepEqual(third.snapshot.all(counters), first.snapshot.all(counters));
  });

  it('read every write that any of them has acknowledged [STATE-4]', async () => {
    await using store = await etcdStore(etcd);
    await using first = await openState(store.engine(), { node: 'a' });
    await using second = await openState(store.engine(), { node: 'b' });
    for (let i = 1; i <= 30; i++) {
      await increment(first, 'n');
      await second.consistent();
      assert.equal(second.snapshot.get(counters, 'n')?.row.value, i);
    }
  });

  it('wake waiters and feed consumers for a change that the other state made [STATE-69] [STATE-77]', async () => {
    await using store = await etcdStore(etcd);
    await using first = await openState(store.engine(), { node: 'a' });
    await using second = await openState(store.engine(), { node: 'b' });
    const stop = new AbortController();
    const fed = second.changes(stop.signal)[Symbol.asyncIterator]().next();
    const woken = new Promise<number | undefined>((resolve) => {
      second.wait([second.watchEntry(counters, 'partition', 'p').topic], () =>
        resolve(second.snapshot.get(counters, 'n')?.row.value),
      );
    });
    await increment(first, 'n');
    assert.equal(await woken, 1);
    const { value } = await fed;
    assert.equal(value.index, first.snapshot.index);
    assert.equal(second.watchEntry(counters, 'partition', 'p').index, first.snapshot.index);
    stop.abort();
  });

  it('run each background job on one state, and move it when that state closes [STATE-91]', async () => {
    await using store = await etcdStore(etcd);
    const states = new Map<string, State>();
    for (const node of ['a', 'b', 'c']) states.set(node, await openState(store.engine(), { node }));
    const running = new Set<string>();
    for (const [node, state] of states) {
      for (let job = 0; job < 12; job++) {
        state.addJob({
          name: `job ${job}`,
          async run(signal) {
            running.add(`${job} on ${node}`);
            await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
            running.delete(`${job} on ${node}`);
          },
        });
      }
    }
    await until('each state sees all nodes', () =>
      [...states.values()].every(({ liveNodes }) => liveNodes.length === 3),
    );
    await until('each job runs once', () => running.size === 12);
    const jobsOf = (node: string): string[] =>
      [...running].filter((each) => each.endsWith(node)).map((each) => each.split(' ')[0] ?? '');
    const placed = [...states.keys()].map(jobsOf);
    assert.ok(
      placed.every((jobs) => jobs.length > 0),
      `12 jobs on three nodes: ${JSON.stringify(placed)}`,
    );
    const lost = jobsOf('b');
    const kept = [...running].filter((each) => !each.endsWith('b'));
    await states.get('b')?.[Symbol.asyncDispose]();
    await until('its jobs run on other nodes', () =>
      lost.every((job) => running.has(`${job} on a`) || running.has(`${job} on c`)),
    );
    for (const each of kept) assert.ok(running.has(each), `${each} did not move`);
    for (const node of ['a', 'c']) await states.get(node)?.[Symbol.asyncDispose]();
  });

  it('continue to delete orphaned keys when the deleting node closes, and expire each row once [STATE-84]', async () => {
    await using store = await etcdStore(etcd);
    const states = [await openState(store.engine(), { node: 'a' }), await openState(store.engine(), { node: 'b' })];
    const [first, second] = states as [State, State];
    for (const state of states) {
      state.addJob(
        expiryJob(state, reservations, systemClock, (tx, { row }) =>
          tx.append(events, { id: `${tx.index} ${row.name}`, text: row.name }),
        ),
      );
    }
    await first.write((tx) => {
      tx.put(organizations, { id: 'o', name: 'o' });
      tx.put(teams, { id: 't', organization: 'o', name: 't' });
    });
    await Promise.all(
      Array.from({ length: 50 }, (_, k) =>
        first.write((tx) => {
          for (let i = 0; i < 100; i++) tx.put(tokens, { id: `${k}-${i}`, team: 't', hash: `${k}-${i}` });
        }),
      ),
    );
    await first.write((tx) => {
      for (let i = 0; i < 30; i++) tx.put(reservations, { name: `n${i}`, holder: `h${i}`, until: tx.now + 300 });
    });
    await second.write((tx) => tx.delete(organizations, 'o'));
    await until(
      'one of them has started to delete',
      async () => (await second.scan(tokens, { limit: 5_000 }, testTimeout())).length < 5_000,
    );
    await first[Symbol.asyncDispose]();
    await until(
      'the other has deleted everything',
      async () => (await second.scan(tokens, { limit: 1 }, testTimeout())).length === 0,
      30_000,
    );
    await until('the expired rows are removed', () => second.snapshot.tables.get(reservations)?.rows.size === 0);
    const expired = (await second.scan(events, { limit: 100 }, testTimeout())).map(({ row }) => row.text);
    assert.deepEqual(expired.toSorted(), Array.from({ length: 30 }, (_, i) => `n${i}`).toSorted());
    await second[Symbol.asyncDispose]();
  });

  it('make a large write although others write all the time [STATE-121] [ETCD-92]', async () => {
    await using store = await etcdStore(etcd);
    await using first = await openState(store.engine(), { node: 'a' });
    await using second = await openState(store.engine(), { node: 'b' });
    let isDone = false;
    const steady = (async () => {
      while (!isDone) await increment(second, 'n');
    })();
    let runs = 0;
    // Takes far longer than the pause between two commits of the other server.
    const made = first.writeInSlices(function* (tx) {
      runs++;
      for (let i = 0; i < 40; i++) {
        tx.put(counters, counter(`large ${i}`));
        const endMs = performance.now() + SLICE_MS + 1;
        while (performance.now() < endMs);
        yield;
      }
    });
    await made.finally(() => {
      isDone = true;
    });
    await steady;
    assert.ok(runs > 1, 'it met no commit of the other server');
    await second.consistent();
    assert.ok(second.snapshot.get(counters, 'large 39') !== undefined);
  });

  it('receive the status rows of a node until it closes [STATE-90]', async () => {
    await using store = await etcdStore(etcd);
    const first = await openState(store.engine(), { node: 'a' });
    await using second = await openState(store.engine(), { node: 'b' });
    const { index } = second.snapshot;
    first.status.publish('streams/0', { s1: { heartbeat: 5 } });
    assert.deepEqual(first.status.read(undefined, 'streams/0'), { s1: { heartbeat: 5 } });
    await until('the row is received', () => second.status.read('a', 'streams/0') !== undefined);
    assert.deepEqual(second.status.readOthers('streams/0'), new Map([['a', { s1: { heartbeat: 5 } }]]));
    assert.equal(second.snapshot.index, index, 'status rows do not advance the index');
    await first[Symbol.asyncDispose]();
    await until('the row is removed', () => second.status.readOthers('streams/0').size === 0);
  });

  it('write the older row format until every live node reads the newer one [STATE-29]', async () => {
    await using store = await etcdStore(etcd);
    interface First {
      readonly id: string;
    }
    interface Second extends First {
      readonly colour: string;
    }
    const older = defineTable<First>()({ name: 'things', key: (row) => row.id, formats: { version: 1 }, indexes: {} });
    const newer = defineTable<Second>()({
      name: 'things',
      key: (row) => row.id,
      formats: {
        version: 2,
        read: { 1: (stored) => ({ ...(stored as First), colour: 'grey' }) },
        write: { 1: ({ id }) => ({ id }) },
      },
      indexes: {},
    });
    const old = await openState(store.engine(), { node: 'old', schema: defineSchema([older]) });
    await old.write((tx) => void tx.put(older, { id: 'by old' }));
    const gated = gatedEngine(store.engine());
    await using state = await openState(gated.engine, { node: 'new', schema: defineSchema([newer]) });
    const written = (): string => gated.commits.at(-1)?.operations[0]?.value ?? '';
    await until('both see each other', () => old.liveNodes.length === 2 && state.liveNodes.length === 2);
    assert.equal(state.snapshot.get(newer, 'by old')?.row.colour, 'grey');
    await state.write((tx) => void tx.put(newer, { id: 'by new', colour: 'red' }));
    assert.match(written(), /^\[1,/);
    await old.consistent();
    assert.equal(old.snapshot.get(older, 'by new')?.row.id, 'by new', 'the older version reads it');
    await old.write((tx) => void tx.put(older, { id: 'by new' }));
    await state.consistent();
    await old[Symbol.asyncDispose]();
    await until('the older node has left', () => state.liveNodes.length === 1);
    await state.write((tx) => void tx.put(newer, { id: 'later', colour: 'blue' }));
    assert.match(written(), /^\[2,/);
  });
});

describe('states on an etcd that went back', { skip: skipWithout('etcd'), timeout: 120_000 }, () => {
  // Verifies [STATE-74] [STATE-75].
  it('continue in a new epoch above every reported index, and wake all waiters [STATE-8] [STATE-76]', async () => {
    await using etcd = await startEtcd();
    await using store = await etcdStore(etcd);
    await using state = await openState(store.engine({ endpoints: etcd.urls }));
    await state.write((tx) => {
      tx.put(counters, counter('kept', 1));
      tx.put(counters, counter('deleted later'));
    });
    await etcd.first.stop();
    etcd.first.saveData();
    await etcd.first.start();
    await state.write((tx) => tx.delete(counters, 'deleted later'));
    for (let i = 0; i < 5; i++) await increment(state, 'lost');
    const before = { epoch: state.snapshot.epoch, index: state.snapshot.index };
    const reported = state.watchRow(counters, 'deleted later').index;
    let woken = 0;
    state.wait([state.watchRow(counters, 'deleted later').topic], () => woken++);
    await etcd.first.stop();
    etcd.first.restoreData();
    await etcd.first.start();
    await until('it has loaded the restored store', () => state.loaded && state.snapshot.epoch > before.epoch, 30_000);
    assert.ok(state.snapshot.index >= before.index + EPOCH_STEP);
    assert.equal(state.snapshot.get(counters, 'lost'), undefined);
    assert.ok(state.snapshot.get(counters, 'deleted later') !== undefined, 'the row exists again');
    await until('its waiter is woken', () => woken === 1);
    const now = state.watchRow(counters, 'deleted later').index;
    assert.ok(now > reported, `a client that waits above ${reported} would miss the change at ${now}`);
    await increment(state, 'kept');
    await using other = await openState(store.engine({ endpoints: etcd.urls }), { node: 'b' });
    assert.deepEqual(dumpState(other.snapshot), dumpState(state.snapshot));
    assert.ok(
      other.watchRow(counters, 'deleted later').index > reported,
      'also on a node that never loaded the old epoch',
    );
    const indexes = [other, state].map((each) => each.watchRow(counters, 'deleted later').reportedIndex);
    assert.equal(indexes[0], indexes[1], 'a client may switch between the servers');
  });
});
