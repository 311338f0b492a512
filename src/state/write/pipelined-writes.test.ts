/** Pipelined writes: writes that run while the engine is still committing the batch that they build on. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createFakeClock, type FakeClock } from '../../../test/support/fake-clock.ts';
import { type EngineOverrides, type GatedEngine, gatedEngine } from '../../../test/support/state/gated-engine.ts';
import { openState, type TestStateSettings } from '../../../test/support/state/state.ts';
import { sqliteStore, type TestStore } from '../../../test/support/state/store.ts';
import { counters, organizations, teams } from '../../../test/support/state/tables.ts';
import { until } from '../../../test/support/until.ts';
import { nextTurn } from '../clock/next-turn.ts';
import { isStateError, StateError, type StateErrorCode } from '../errors.ts';
import { WRITE_MS_MAX } from '../limits.ts';
import type { State } from '../state.ts';
import { defineSchema, defineTable } from '../table.ts';
import type { Transaction } from './transaction.ts';
import type { WriteOptions } from './write-queue.ts';

const hasCode =
  (code: StateErrorCode) =>
  (error: unknown): boolean =>
    isStateError(error, code);

/** Adds to a counter, which it creates if missing. @returns the new value */
const add =
  (id: string, amount: number) =>
  (tx: Transaction): number => {
    const value = (tx.get(counters, id)?.row.value ?? 0) + amount;
    tx.put(counters, { id, value, partition: 'p' });
    return value;
  };

describe('pipelined write', { timeout: 60_000 }, () => {
  let store: TestStore;
  let clock: FakeClock;
  let gated: GatedEngine;
  let state: State;

  const open = async (pretence?: EngineOverrides, settings?: TestStateSettings): Promise<void> => {
    clock = createFakeClock();
    gated = gatedEngine(store.engine(), pretence);
    state = await openState(gated.engine, { clock, ...settings });
  };
  const value = (id: string): number | undefined => state.snapshot.get(counters, id)?.row.value;

  /** Starts a write that waits at the store, and a second one that has run on its expected result. */
  const startTwo = async <First, Second>(
    first: (tx: Transaction) => First,
    second: (tx: Transaction) => Second,
    options?: WriteOptions,
  ): Promise<{ first: Promise<First>; second: Promise<Second>; runs: () => number }> => {
    let runs = 0;
    gated.commit.close();
    const { length } = gated.commits;
    const one = state.write(first);
    one.catch(() => undefined);
    await until('the first write is at the store', () => gated.commits.length === length + 1);
    const two = state.write((tx) => {
      runs++;
      return second(tx);
    }, options);
    two.catch(() => undefined);
    await until('the second write has run', () => runs === 1);
    return { first: one, second: two, runs: () => runs };
  };

  beforeEach(async () => {
    store = await sqliteStore();
  });
  afterEach(async () => {
    for (const gate of [gated.commit, gated.acknowledge, gated.head, gated.load]) gate.open();
    await state[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
  });

  // Verifies [STATE-42].
  it('sees the expected result of the batch in flight, is sent after it, and runs once [STATE-40]', async () => {
    await open();
    const { first, second, runs } = await startTwo(add('n', 1), add('n', 10));
    assert.equal(value('n'), undefined);
    assert.equal(gated.commits.length, 1, 'one commit at a time');
    gated.commit.step();
    assert.equal(await first, 1);
    assert.equal(value('n'), 1);
    gated.commit.open();
    assert.equal(await second, 11);
    assert.equal(value('n'), 11);
    assert.equal(runs(), 1);
    assert.deepEqual(
      gated.commits.map(({ base }) => base - (gated.commits[0]?.base ?? 0)),
      [0, 1],
    );
  });

  it('shares a batch with the writes that arrive before it is sent', async () => {
    await open();
    const { first, second } = await startTwo(add('n', 1), add('n', 10));
    const third = state.write(add('n', 100));
    gated.commit.open();
    assert.deepEqual(await Promise.all([first, second, third]), [1, 11, 111]);
    assert.equal(gated.commits.length, 2);
  });

  it('settles a rejection or a no-op only when the batch in flight is durable [STATE-7]', async () => {
    await open();
    const settled: string[] = [];
    const { first, second } = await startTwo(add('n', 1), (tx) => {
      throw new RangeError(`there is ${tx.get(counters, 'n')?.row.value}`);
    });
    const noOp = state.write((tx) => tx.get(counters, 'n')?.row.value);
    const all = [
      first.then(() => settled.push('first')),
      assert.rejects(second, { message: 'there is 1' }).then(() => settled.push('rejection')),
      noOp.then((seen) => settled.push(`no-op ${seen}`)),
    ];
    for (let turn = 0; turn < 10; turn++) await nextTurn();
    assert.deepEqual(settled, []);
    gated.commit.open();
    await Promise.all(all);
    assert.deepEqual(settled.toSorted(), ['first', 'no-op 1', 'rejection']);
  });

  it('runs again without the batch in flight if the store rejects that [STATE-42]', async () => {
    await open();
    gated.commit.failNext(new StateError('full', 'no room'));
    const { first, second, runs } = await startTwo(add('n', 1), (tx) => {
      if (tx.get(counters, 'n') !== undefined) throw new RangeError('existing');
      return add('n', 10)(tx);
    });
    gated.commit.open();
    await assert.rejects(first, hasCode('full'));
    assert.equal(await second, 10);
    assert.equal(runs(), 2);
    assert.equal(value('n'), 10);
  });

  it('runs again after the batch in flight if another server committed first [STATE-42] [STATE-43]', async () => {
    await open({ shared: true });
    const { first, second, runs } = await startTwo(add('n', 1), add('n', 10));
    const elsewhere = JSON.stringify([1, 1, 1, { id: 'n', value: 100, partition: 'p' }]);
    await gated.commitElsewhere([{ table: 'counters', key: 'n', value: elsewhere }]);
    gated.commit.open();
    assert.deepEqual(await Promise.all([first, second]), [101, 111]);
    assert.equal(runs(), 2);
    assert.equal(value('n'), 111);
  });

  it('runs again if the batch in flight has no operations and the head has moved [STATE-41]', async () => {
    await open({ shared: true });
    gated.head.close();
    const first = state.write((tx) => tx.get(counters, 'n')?.row.value);
    await until('the base is being proved', () => gated.head.waiting === 1);
    let runs = 0;
    const second = state.write((tx) => {
      runs++;
      return add('n', 10)(tx);
    });
    await until('the second write has run', () => runs === 1);
    const elsewhere = JSON.stringify([1, 1, 1, { id: 'n', value: 100, partition: 'p' }]);
    await gated.commitElsewhere([{ table: 'counters', key: 'n', value: elsewhere }]);
    gated.head.open();
    assert.deepEqual(await Promise.all([first, second]), [100, 110]);
    assert.equal(runs, 2);
  });

  it('runs again on the loaded rows after a reload [STATE-66]', async () => {
    await open();
    const { first, second, runs } = await startTwo(add('n', 1), add('n', 10));
    gated.break('requested by the test');
    await until('the state is reloaded', () => state.loaded);
    gated.commit.open();
    assert.deepEqual(await Promise.all([first, second]), [1, 11]);
    assert.equal(runs(), 2);
    assert.equal(value('n'), 11);
  });

  it('fails with unavailable when the state cannot follow the store any longer [STATE-120]', async () => {
    await open();
    const { first, second } = await startTwo(add('n', 1), add('n', 10));
    gated.load.failNext(new StateError('corrupt', 'a newer version wrote a row'));
    gated.break('requested by the test');
    await assert.rejects(state.consistent() ?? Promise.resolve(), /this server is stopping: a newer version/);
    gated.commit.open();
    await assert.rejects(first, hasCode('outcome-unknown'));
    await assert.rejects(second, hasCode('unavailable'));
    await assert.rejects(state.write(add('n', 100)), hasCode('unavailable'));
    assert.match(String(await state.fatal), /a newer version/);
  });

  it('runs again if a server joins that does not read its row format [STATE-30]', async () => {
    const notes = defineTable<{ readonly id: string }>()({
      name: 'notes',
      key: (row) => row.id,
      formats: { version: 2, read: { 1: (stored) => stored as { id: string } }, write: { 1: (row) => row } },
      indexes: {},
    });
    await open({}, { schema: defineSchema([notes]) });
    const put = (id: string) => (tx: Transaction) => void tx.put(notes, { id });
    const { first, second } = await startTwo(put('a'), put('b'));
    gated.reportFormats({ notes: 1 });
    gated.commit.open();
    await Promise.all([first, second]);
    assert.deepEqual(
      gated.commits.flatMap(({ operations }) => operations.map(({ value }) => value?.slice(0, 3))),
      ['[2,', '[1,'],
    );
  });

  it('is not sent if the state closes [STATE-53]', async () => {
    await open();
    const { first, second } = await startTwo(add('n', 1), add('n', 10));
    const closed = state[Symbol.asyncDispose]();
    const rejected = assert.rejects(second, hasCode('aborted'));
    gated.commit.open();
    await Promise.allSettled([first, closed]);
    await rejected;
    assert.equal(gated.commits.length, 1);
  });

  it('is not committed after it timed out, even if it has run [STATE-49]', async () => {
    await open();
    const { second } = await startTwo(add('first', 1), add('second', 1));
    const timedOut = assert.rejects(second, hasCode('unavailable'));
    await clock.run(WRITE_MS_MAX + 1_000);
    await timedOut;
    const later = state.write(add('later', 1));
    gated.commit.open();
    await later;
    assert.deepEqual([value('first'), value('second'), value('later')], [1, undefined, 1]);
  });

  // Verifies [STATE-48].
  it('is dropped if its client disconnects while the store does not answer, and later writes run again', async () => {
    await open();
    const disconnect = new AbortController();
    const { second } = await startTwo(add('n', 1), add('n', 10), { signal: disconnect.signal });
    const third = state.write(add('n', 100));
    const dropped = assert.rejects(second, hasCode('aborted'));
    disconnect.abort();
    await clock.run(1_000);
    await dropped;
    gated.commit.open();
    assert.equal(await third, 101);
  });

  it('is dropped if its client disconnects just before it is sent [STATE-48]', async () => {
    await open();
    const disconnect = new AbortController();
    const { first, second } = await startTwo(add('n', 1), add('n', 10), { signal: disconnect.signal });
    const third = state.write(add('n', 100));
    const dropped = assert.rejects(second, hasCode('aborted'));
    disconnect.abort();
    gated.commit.open();
    await Promise.all([first, dropped]);
    assert.equal(await third, 101);
  });

  it('counts the rows that the batch in flight adds, unless the store rejects that [STATE-52]', async () => {
    await open({}, { rowsMax: 1 });
    const rejected = await startTwo(add('a', 1), add('b', 1));
    gated.commit.open();
    await rejected.first;
    await assert.rejects(rejected.second, hasCode('rows-max'));
    await state.write((tx) => tx.delete(counters, 'a'));
    gated.commit.failNext(new StateError('full', 'no room'));
    const made = await startTwo(add('a', 1), add('b', 1));
    gated.commit.open();
    await assert.rejects(made.first, hasCode('full'));
    assert.equal(await made.second, 1);
    assert.deepEqual([value('a'), value('b')], [undefined, 1]);
  });

  it('waits for a commit that deletes an owner, and for the removal of its orphans [STATE-42]', async () => {
    await open();
    await state.write((tx) => {
      tx.put(organizations, { id: 'o', name: 'o' });
      tx.put(teams, { id: 't', organization: 'o', name: 't' });
    });
    gated.commit.close();
    const { length } = gated.commits;
    const removal = state.write((tx) => tx.delete(organizations, 'o'));
    await until('the deletion is at the store', () => gated.commits.length === length + 1);
    const seen = state.write((tx) => tx.get(teams, 't') ?? tx.find(organizations, 'name', 'o') ?? 'nothing');
    for (let turn = 0; turn < 10; turn++) await nextTurn();
    gated.commit.open();
    assert.deepEqual(await Promise.all([removal, seen]), [true, 'nothing']);
  });
});
