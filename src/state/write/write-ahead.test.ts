/** Writes that run while the engine still commits what they build on: in order, as if it had waited, or again. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createFakeClock, type FakeClock } from '../../../test/support/fake-clock.ts';
import { type GatedEngine, gatedEngine, type Pretence } from '../../../test/support/state/gated-engine.ts';
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

/** Adds to a counter that must be there, or is made. @returns what it is now */
const add =
  (id: string, amount: number) =>
  (tx: Transaction): number => {
    const value = (tx.get(counters, id)?.row.value ?? 0) + amount;
    tx.put(counters, { id, value, partition: 'p' });
    return value;
  };

describe('a write that is run ahead', { timeout: 60_000 }, () => {
  let store: TestStore;
  let clock: FakeClock;
  let gated: GatedEngine;
  let state: State;

  const open = async (pretence?: Pretence, settings?: TestStateSettings): Promise<void> => {
    clock = createFakeClock();
    gated = gatedEngine(store.engine(), pretence);
    state = await openState(gated.engine, { clock, ...settings });
  };
  const value = (id: string): number | undefined => state.snapshot.get(counters, id)?.row.value;

  /** A write at the store and one that has run on what it will have made. */
  const twoUnderWay = async <First, Second>(
    first: (tx: Transaction) => First,
    second: (tx: Transaction) => Second,
    options?: WriteOptions,
  ): Promise<{ first: Promise<First>; second: Promise<Second>; runs: () => number }> => {
    let runs = 0;
    gated.commit.shut();
    const { length } = gated.commits;
    const one = state.write(first);
    one.catch(() => undefined);
    await until('the first is at the store', () => gated.commits.length === length + 1);
    const two = state.write((tx) => {
      runs++;
      return second(tx);
    }, options);
    two.catch(() => undefined);
    await until('the second has run', () => runs === 1);
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

  it('sees what the one before it will have made, which nobody else does; is sent after it, and not run again', async () => {
    await open();
    const { first, second, runs } = await twoUnderWay(add('n', 1), add('n', 10));
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

  it('goes together with those that come until it can be sent', async () => {
    await open();
    const { first, second } = await twoUnderWay(add('n', 1), add('n', 10));
    const third = state.write(add('n', 100));
    gated.commit.open();
    assert.deepEqual(await Promise.all([first, second, third]), [1, 11, 111]);
    assert.equal(gated.commits.length, 2);
  });

  it('has its refusal and its no-op held until what they are based on is durable', async () => {
    await open();
    const told: string[] = [];
    const { first, second } = await twoUnderWay(add('n', 1), (tx) => {
      throw new RangeError(`there is ${tx.get(counters, 'n')?.row.value}`);
    });
    const noOp = state.write((tx) => tx.get(counters, 'n')?.row.value);
    const all = [
      first.then(() => told.push('first')),
      assert.rejects(second, { message: 'there is 1' }).then(() => told.push('refusal')),
      noOp.then((seen) => told.push(`no-op ${seen}`)),
    ];
    for (let turn = 0; turn < 10; turn++) await nextTurn();
    assert.deepEqual(told, []);
    gated.commit.open();
    await Promise.all(all);
    assert.deepEqual(told.toSorted(), ['first', 'no-op 1', 'refusal']);
  });

  it('runs again without the one before it when the store refuses that', async () => {
    await open();
    gated.commit.failNext(new StateError('full', 'no room'));
    const { first, second, runs } = await twoUnderWay(add('n', 1), (tx) => {
      if (tx.get(counters, 'n') !== undefined) throw new RangeError('it is there');
      return add('n', 10)(tx);
    });
    gated.commit.open();
    await assert.rejects(first, hasCode('full'));
    assert.equal(await second, 10);
    assert.equal(runs(), 2);
    assert.equal(value('n'), 10);
  });

  it('runs again behind the one before it when another node was first', async () => {
    await open({ shared: true });
    const { first, second, runs } = await twoUnderWay(add('n', 1), add('n', 10));
    const elsewhere = JSON.stringify([1, 1, 1, { id: 'n', value: 100, partition: 'p' }]);
    await gated.commitElsewhere([{ table: 'counters', key: 'n', value: elsewhere }]);
    gated.commit.open();
    assert.deepEqual(await Promise.all([first, second]), [101, 111]);
    assert.equal(runs(), 2);
    assert.equal(value('n'), 111);
  });

  it('runs again when the one before it changed nothing and the head has moved', async () => {
    await open({ shared: true });
    gated.head.shut();
    const first = state.write((tx) => tx.get(counters, 'n')?.row.value);
    await until('the base is being proved', () => gated.head.waiting === 1);
    let runs = 0;
    const second = state.write((tx) => {
      runs++;
      return add('n', 10)(tx);
    });
    await until('the second has run', () => runs === 1);
    const elsewhere = JSON.stringify([1, 1, 1, { id: 'n', value: 100, partition: 'p' }]);
    await gated.commitElsewhere([{ table: 'counters', key: 'n', value: elsewhere }]);
    gated.head.open();
    assert.deepEqual(await Promise.all([first, second]), [100, 110]);
    assert.equal(runs, 2);
  });

  it('runs again on what was loaded when the state was loaded meanwhile', async () => {
    await open();
    const { first, second, runs } = await twoUnderWay(add('n', 1), add('n', 10));
    gated.break('the test says so');
    await until('it is loaded again', () => state.loaded);
    gated.commit.open();
    assert.deepEqual(await Promise.all([first, second]), [1, 11]);
    assert.equal(runs(), 2);
    assert.equal(value('n'), 11);
  });

  it('runs again when a node has come that does not read the format it was written in', async () => {
    const notes = defineTable<{ readonly id: string }>()({
      name: 'notes',
      key: (row) => row.id,
      formats: { version: 2, read: { 1: (stored) => stored as { id: string } }, write: { 1: (row) => row } },
      indexes: {},
    });
    await open({}, { schema: defineSchema([notes]) });
    const put = (id: string) => (tx: Transaction) => void tx.put(notes, { id });
    const { first, second } = await twoUnderWay(put('a'), put('b'));
    gated.members([{ name: 'older', incarnation: 'o', formats: { notes: 1 } }]);
    gated.commit.open();
    await Promise.all([first, second]);
    assert.deepEqual(
      gated.commits.flatMap(({ operations }) => operations.map(({ value }) => value?.slice(0, 3))),
      ['[2,', '[1,'],
    );
  });

  it('is not sent when the state closes: only what was at the store can have been made', async () => {
    await open();
    const { first, second } = await twoUnderWay(add('n', 1), add('n', 10));
    const closed = state[Symbol.asyncDispose]();
    const refused = assert.rejects(second, hasCode('aborted'));
    gated.commit.open();
    await Promise.allSettled([first, closed]);
    await refused;
    assert.equal(gated.commits.length, 1);
  });

  it('is not made when its caller was told so, though it had run', async () => {
    await open();
    const { second } = await twoUnderWay(add('first', 1), add('second', 1));
    const told = assert.rejects(second, hasCode('unavailable'));
    await clock.run(WRITE_MS_MAX + 1_000);
    await told;
    const later = state.write(add('later', 1));
    gated.commit.open();
    await later;
    assert.deepEqual([value('first'), value('second'), value('later')], [1, undefined, 1]);
  });

  it('is dropped when its caller leaves while the store is away, and what ran on it runs again', async () => {
    await open();
    const leaving = new AbortController();
    const { second } = await twoUnderWay(add('n', 1), add('n', 10), { signal: leaving.signal });
    const third = state.write(add('n', 100));
    const left = assert.rejects(second, hasCode('aborted'));
    leaving.abort();
    await clock.run(1_000);
    await left;
    gated.commit.open();
    assert.equal(await third, 101);
  });

  it('is dropped when its caller leaves just before it is sent', async () => {
    await open();
    const leaving = new AbortController();
    const { first, second } = await twoUnderWay(add('n', 1), add('n', 10), { signal: leaving.signal });
    const third = state.write(add('n', 100));
    const left = assert.rejects(second, hasCode('aborted'));
    leaving.abort();
    gated.commit.open();
    await Promise.all([first, left]);
    assert.equal(await third, 101);
  });

  it('counts the rows that the one before it adds, and only if it comes to add them', async () => {
    await open({}, { rowsMax: 1 });
    const refused = await twoUnderWay(add('a', 1), add('b', 1));
    gated.commit.open();
    await refused.first;
    await assert.rejects(refused.second, hasCode('rows-max'));
    await state.write((tx) => tx.delete(counters, 'a'));
    gated.commit.failNext(new StateError('full', 'no room'));
    const made = await twoUnderWay(add('a', 1), add('b', 1));
    gated.commit.open();
    await assert.rejects(made.first, hasCode('full'));
    assert.equal(await made.second, 1);
    assert.deepEqual([value('a'), value('b')], [undefined, 1]);
  });

  it('waits for a commit that removes an owner, whose orphans are dropped before it runs', async () => {
    await open();
    await state.write((tx) => {
      tx.put(organizations, { id: 'o', name: 'o' });
      tx.put(teams, { id: 't', organization: 'o', name: 't' });
    });
    gated.commit.shut();
    const { length } = gated.commits;
    const removal = state.write((tx) => tx.delete(organizations, 'o'));
    await until('it is at the store', () => gated.commits.length === length + 1);
    const seen = state.write((tx) => tx.get(teams, 't') ?? tx.find(organizations, 'name', 'o') ?? 'nothing');
    for (let turn = 0; turn < 10; turn++) await nextTurn();
    gated.commit.open();
    assert.deepEqual(await Promise.all([removal, seen]), [true, 'nothing']);
  });
});
