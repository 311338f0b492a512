/** The bounds of waiting writes, and what happens to them when the store is slow, away, or changed by others. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createFakeClock, type FakeClock } from '../../../test/support/fake-clock.ts';
import { type GatedEngine, gatedEngine, type Pretence } from '../../../test/support/state/gated-engine.ts';
import { openState, type TestStateSettings } from '../../../test/support/state/state.ts';
import { sqliteStore, type TestStore } from '../../../test/support/state/store.ts';
import { type Counter, counters, organizations, teams } from '../../../test/support/state/tables.ts';
import { until } from '../../../test/support/until.ts';
import { nextTurn } from '../clock/next-turn.ts';
import type { Operation } from '../engine/engine.ts';
import { isStateError, StateError, type StateErrorCode } from '../errors.ts';
import {
  ATTEMPTS_MAX,
  ATTEMPTS_MS,
  BARRIER_MS,
  DRAIN_SLICE_ROWS,
  WAITING_BYTES_MAX,
  WAITING_WRITES_MAX,
  WRITE_MS_MAX,
} from '../limits.ts';
import type { State } from '../state.ts';
import type { Transaction } from './transaction.ts';

const counter = (id: string, value = 0): Counter => ({ id, value, partition: 'p' });

/** What another node writes: a counter as it lies in the store. */
const elsewhere = (id: string, value: number, index: number): Operation => ({
  table: 'counters',
  key: id,
  value: JSON.stringify([1, index, index, counter(id, value)]),
});

const hasCode =
  (...codes: StateErrorCode[]) =>
  (error: unknown): boolean =>
    isStateError(error, ...codes);

describe('write queue', { timeout: 60_000 }, () => {
  let store: TestStore;
  let clock: FakeClock;
  let gated: GatedEngine;
  let state: State;

  const open = async (pretence?: Pretence, settings?: TestStateSettings): Promise<void> => {
    clock = createFakeClock();
    gated = gatedEngine(store.engine(), pretence);
    state = await openState(gated.engine, { clock, ...settings });
  };
  const put =
    (id: string, value = 0) =>
    (tx: Transaction): void =>
      void tx.put(counters, counter(id, value));
  const turns = async (): Promise<void> => {
    for (let turn = 0; turn < 10; turn++) await nextTurn();
  };

  beforeEach(async () => {
    store = await sqliteStore();
  });
  afterEach(async () => {
    for (const gate of [gated.commit, gated.acknowledge, gated.head, gated.load]) gate.open();
    await state[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
  });

  describe('bound', () => {
    it('on the number of waiting writes turns further ones away at once, until there is room', async () => {
      await open();
      gated.commit.shut();
      const first = state.write(put('first'));
      await until('it commits', () => gated.commit.waiting === 1);
      const waiting = Array.from({ length: WAITING_WRITES_MAX }, () => state.write((tx) => tx.now));
      await assert.rejects(state.write(put('late')), hasCode('overloaded'));
      gated.commit.open();
      await Promise.all([first, ...waiting]);
      await state.write(put('later'));
    });

    it('on the bytes of waiting writes counts what each says it holds', async () => {
      await open();
      gated.commit.shut();
      const first = state.write(put('first'));
      await until('it commits', () => gated.commit.waiting === 1);
      const half = { bytes: WAITING_BYTES_MAX / 2 };
      const waiting = [state.write(put('a'), half), state.write(put('b'), half)];
      await assert.rejects(state.write(put('c'), { bytes: 1 }), hasCode('overloaded'));
      gated.commit.open();
      await Promise.all([first, ...waiting]);
      // Alone, one may be larger: it holds what a request may.
      await state.write(put('c'), { bytes: WAITING_BYTES_MAX + 1 });
    });

    it('on rows does not count those of a write that was refused', async () => {
      await open(undefined, { rowsMax: 1 });
      const refused = state.write((tx) => {
        put('a')(tx);
        put('b')(tx);
        throw new RangeError('no');
      });
      const made = state.write(put('c'));
      await assert.rejects(refused, RangeError);
      await made;
      await assert.rejects(state.write(put('d')), hasCode('rows-max'));
    });

    it('on the size of one write names the limit to raise, and fails that write alone', async () => {
      await open({ operationsMax: 10, bytesMax: 2_000 });
      const large = state.write((tx) => {
        for (let i = 0; i < 11; i++) put(`l${i}`)(tx);
      });
      const long = state.write((tx) => void tx.put(counters, { ...counter('long'), partition: 'x'.repeat(2_000) }));
      const fits = state.write((tx) => {
        for (let i = 0; i < 10; i++) put(`k${i}`)(tx);
      });
      await assert.rejects(
        large,
        (error) => isStateError(error, 'too-large') && /SQLite sets no limit/.test(error.message),
      );
      await assert.rejects(long, hasCode('too-large'));
      await fits;
      assert.equal(state.snapshot.all(counters).length, 10);
    });

    it('that only the store knows is found by making each write of the batch alone', async () => {
      await open();
      gated.commit.failNext(new StateError('too-large', 'the store refuses this batch'));
      await Promise.all(['a', 'b', 'c'].map((id) => state.write(put(id))));
      assert.deepEqual(
        gated.commits.map(({ operations }) => operations.length),
        [3, 1, 1, 1],
      );
      gated.commit.failNext(new StateError('too-large', 'the store refuses this batch'));
      gated.commit.failNext(new StateError('too-large', 'the store refuses this write'));
      const outcomes = await Promise.allSettled(['d', 'e'].map((id) => state.write(put(id))));
      assert.deepEqual(
        outcomes.map(({ status }) => status),
        ['rejected', 'fulfilled'],
      );
      assert.ok(outcomes[0]?.status === 'rejected' && /SQLite sets no limit/.test(String(outcomes[0].reason)));
    });

    it('of a full store refuses the write that met it; reads go on, and so do writes when there is room', async () => {
      await open();
      await state.write(put('a'));
      gated.commit.failNext(new StateError('full', 'no room'));
      await assert.rejects(state.write(put('b')), hasCode('full'));
      assert.equal(state.snapshot.all(counters).length, 1);
      await state.write(put('c'));
      assert.deepEqual(
        state.snapshot.all(counters).map(({ row }) => row.id),
        ['a', 'c'],
      );
    });
  });

  describe('caller', () => {
    it('that left before its write was started is not served', async () => {
      await open();
      gated.commit.shut();
      const first = state.write(put('first'));
      await until('it commits', () => gated.commit.waiting === 1);
      const leaving = new AbortController();
      const left = assert.rejects(state.write(put('left'), { signal: leaving.signal }), hasCode('aborted'));
      leaving.abort();
      gated.commit.open();
      await Promise.all([first, left]);
      assert.equal(state.snapshot.get(counters, 'left'), undefined);
    });

    it('that left does not make those behind it run again', async () => {
      await open();
      const add = (tx: Transaction): void => put('n', (tx.get(counters, 'n')?.row.value ?? 0) + 1)(tx);
      const left = assert.rejects(state.write(add, { signal: AbortSignal.abort() }), hasCode('aborted'));
      await Promise.all([left, state.write(add), state.write(add)]);
      await state.write(() => undefined);
      assert.equal(state.snapshot.get(counters, 'n')?.row.value, 2);
    });

    it('that left makes room while the store is away', async () => {
      await open();
      gated.commit.shut();
      const first = state.write(put('first'));
      await until('it commits', () => gated.commit.waiting === 1);
      const leaving = new AbortController();
      const left = Array.from({ length: WAITING_WRITES_MAX }, () =>
        assert.rejects(state.write(put('left'), { signal: leaving.signal }), hasCode('aborted')),
      );
      await assert.rejects(state.write(put('more')), hasCode('overloaded'));
      leaving.abort();
      await clock.run(1_000);
      await Promise.all(left);
      const more = state.write(put('more'));
      gated.commit.open();
      await Promise.all([first, more]);
    });

    it('is told in time that the outcome of its write is unknown, or that it was not made; the former goes on', async () => {
      await open();
      gated.commit.shut();
      const inFlight = assert.rejects(state.write(put('in flight')), hasCode('outcome-unknown'));
      await until('it commits', () => gated.commit.waiting === 1);
      await clock.run(5_000);
      const waiting = assert.rejects(state.write(put('waiting')), hasCode('unavailable'));
      await clock.run(WRITE_MS_MAX - 5_000 + 1_000);
      await inFlight;
      await clock.run(5_000);
      await waiting;
      const later = state.write(put('later'));
      gated.commit.open();
      await later;
      assert.deepEqual(
        state.snapshot.all(counters).map(({ row }) => row.id),
        ['in flight', 'later'],
      );
    });
  });

  describe('conflict', () => {
    it('throws every outcome away and runs the writes again on what others made, with the same time and ids', async () => {
      await open({ shared: true });
      await state.write(put('n', 1));
      const runs: { id: number; now: number; seen: number | undefined }[] = [];
      let made = 0;
      gated.commit.shut();
      const value = state.write((tx) => {
        const seen = tx.get(counters, 'n')?.row.value;
        runs.push({ id: tx.once(() => ++made), now: tx.now, seen });
        tx.put(counters, counter('n', (seen ?? 0) + 1));
        return seen;
      });
      const refusal = assert.rejects(
        state.write((tx) => {
          throw new RangeError(`there are ${tx.get(counters, 'n')?.row.value}`);
        }),
        { message: 'there are 11' },
      );
      await until('the batch is at the store', () => gated.commit.waiting === 1);
      await gated.commitElsewhere([elsewhere('n', 10, state.snapshot.index + 1)]);
      clock.jump(5_000);
      gated.commit.open();
      assert.equal(await value, 10);
      await refusal;
      assert.deepEqual(
        runs.map(({ id, seen }) => [id, seen]),
        [
          [1, 1],
          [1, 10],
        ],
      );
      assert.equal(runs[0]?.now, runs[1]?.now);
      assert.equal(state.snapshot.get(counters, 'n')?.row.value, 11);
    });

    it('with a batch that writes nothing: it proves its base, and runs again when the head has moved', async () => {
      await open({ shared: true });
      gated.head.shut();
      const refusal = assert.rejects(
        state.write((tx) => {
          const found = tx.get(counters, 'n');
          throw new RangeError(found === undefined ? 'there is none' : 'it is there');
        }),
        { message: 'it is there' },
      );
      const noOp = state.write((tx) => tx.delete(counters, 'gone') || tx.get(counters, 'n')?.row.value);
      await until('the base is being proved', () => gated.head.waiting === 1);
      await gated.commitElsewhere([elsewhere('n', 7, state.snapshot.index + 1)]);
      gated.head.open();
      await refusal;
      assert.equal(await noOp, 7);
      assert.equal(gated.commits.length, 0);
    });

    it('again and again ends with an answer, after a number of attempts', async () => {
      await open({ shared: true });
      let runs = 0;
      const write = assert.rejects(
        state.write((tx) => {
          runs++;
          put('n', runs)(tx);
        }),
        hasCode('overloaded'),
      );
      gated.commit.shut();
      for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
        await until('it is at the store', () => gated.commits.length === attempt && gated.commit.waiting === 1);
        await gated.commitElsewhere([elsewhere('m', attempt, state.snapshot.index + 1)]);
        gated.commit.step();
      }
      await write;
      gated.commit.open();
      assert.equal(runs, ATTEMPTS_MAX);
      await state.write(put('n', 1));
    });

    it('again and again ends with an answer, after a time', async () => {
      await open({ shared: true });
      gated.commit.shut();
      const write = assert.rejects(state.write(put('n')), hasCode('overloaded'));
      await until('it is at the store', () => gated.commit.waiting === 1);
      await gated.commitElsewhere([elsewhere('m', 1, state.snapshot.index + 1)]);
      await clock.run(ATTEMPTS_MS + 1);
      gated.commit.open();
      await write;
      assert.equal(gated.commits.length, 1);
    });

    it('known while this node cannot catch up: the caller is told that nothing was made', async () => {
      await open({ shared: true });
      gated.commit.shut();
      const write = assert.rejects(state.write(put('n')), hasCode('unavailable'));
      await until('it is at the store', () => gated.commit.waiting === 1);
      gated.load.shut();
      gated.break('the test says so');
      await gated.commitElsewhere([elsewhere('m', 1, state.snapshot.index + 1)]);
      gated.commit.open();
      await until('it was refused', () => gated.acknowledge.calls === 1 && gated.acknowledge.waiting === 0);
      await turns();
      await clock.run(WRITE_MS_MAX + 1_000);
      await write;
      gated.load.open();
      await state.write(put('n'));
    });
  });

  describe('reload', () => {
    it('makes a commit visible that was made meanwhile, before it is acknowledged', async () => {
      await open();
      gated.acknowledge.shut();
      const write = state.write(put('n', 5)).then(() => state.snapshot.get(counters, 'n')?.row.value);
      await until('it is made', () => gated.acknowledge.waiting === 1);
      gated.load.shut();
      gated.break('the test says so');
      gated.acknowledge.open();
      await turns();
      gated.load.open();
      assert.equal(await write, 5);
    });

    it('holds reads and writes until it is done, and begins again after a break in it', async () => {
      await open();
      await state.write(put('n', 1));
      gated.load.shut();
      gated.break('once');
      assert.equal(state.loaded, false);
      const read = state.consistent();
      assert.ok(read !== undefined, 'a read must wait for the load');
      const write = state.write(put('n', 2));
      await until('it loads', () => gated.load.waiting === 1);
      const { calls } = gated.load;
      gated.break('twice');
      gated.break('three times');
      gated.load.open();
      await Promise.all([read, write]);
      assert.equal(gated.load.calls, calls + 1, 'one further load, not one a break');
      assert.equal(state.snapshot.get(counters, 'n')?.row.value, 2);
    });

    it('leaves out what owners left, though a commit that was prepared before is made after it', async () => {
      await open();
      await state.write((tx) => {
        for (const id of ['o', 'p']) tx.put(organizations, { id, name: id });
        for (let i = 0; i < DRAIN_SLICE_ROWS * 3; i++) tx.put(teams, { id: `t${i}`, organization: 'o', name: `t${i}` });
      });
      await state.write((tx) => tx.delete(organizations, 'o'));
      gated.commit.shut();
      const write = state.write((tx) => void tx.put(teams, { id: 'kept', organization: 'p', name: 'kept' }));
      await until('it is at the store', () => gated.commit.waiting === 1);
      assert.ok(state.snapshot.ownersInDoubt, 'orphans are in the trees that it was prepared on');
      gated.break('the test says so');
      await until('it is loaded again', () => state.loaded);
      gated.commit.open();
      await write;
      assert.deepEqual(
        state.snapshot.all(teams).map(({ row }) => row.id),
        ['kept'],
      );
      assert.equal(state.snapshot.rowCount, 2);
    });

    it('begins again, once, when what came meanwhile does not follow what was loaded', async () => {
      await open();
      await state.write(put('n', 1));
      gated.load.shut();
      gated.break('the test says so');
      await until('it loads', () => gated.load.waiting === 1);
      const { calls } = gated.load;
      gated.deliver(state.snapshot.index + 5);
      gated.load.open();
      await until('it is loaded again', () => state.loaded);
      await state.write(put('n', 2));
      for (let turn = 0; turn < 50; turn++) await nextTurn();
      assert.equal(gated.load.calls, calls + 1);
      assert.equal(state.snapshot.get(counters, 'n')?.row.value, 2);
    });

    it('that fails is tried again', async () => {
      await open();
      await state.write(put('n', 1));
      gated.load.failNext(new StateError('unavailable', 'the store is away'));
      gated.break('the test says so');
      await until('it failed', () => gated.load.calls === 2 && gated.load.waiting === 0);
      const write = state.write(put('n', 2));
      await clock.run(1_000);
      await write;
      assert.equal(state.loaded, true);
    });

    it('that meets rows it cannot read ends the process instead of going on', async () => {
      await open();
      await gated.commitElsewhere([{ table: 'counters', key: 'k', value: '[2,1,1,{}]' }]);
      const error = await state.fatal;
      assert.ok(isStateError(error, 'corrupt'));
      assert.match(error.message, /format 2.*newer version/s);
    });
  });

  describe('consistent read', () => {
    it('is free where no other process can commit', async () => {
      await open();
      assert.equal(state.consistent(), undefined);
    });

    it('waits until this node holds what the store held', async () => {
      await open({ shared: true });
      gated.head.shut();
      const read = state.consistent()?.then(() => state.snapshot.get(counters, 'n')?.row.value);
      await until('the head is read', () => gated.head.waiting === 1);
      await gated.commitElsewhere([elsewhere('n', 3, state.snapshot.index + 1)]);
      gated.head.open();
      assert.equal(await read, 3);
    });

    it('fails when the store does not answer', async () => {
      await open({ shared: true });
      gated.head.shut();
      const read = assert.rejects(Promise.resolve(state.consistent()), hasCode('unavailable'));
      await clock.run(BARRIER_MS);
      await read;
      gated.head.open();
      await state.consistent();
    });
  });

  it('ends with the state, though orphans are left in the trees', async () => {
    await open();
    await state.write((tx) => {
      tx.put(organizations, { id: 'o', name: 'o' });
      for (let i = 0; i < DRAIN_SLICE_ROWS * 3; i++) tx.put(teams, { id: `t${i}`, organization: 'o', name: `t${i}` });
    });
    await state.write((tx) => tx.delete(organizations, 'o'));
    gated.commit.shut();
    const write = state.write(put('n'));
    await until('it is at the store', () => gated.commit.waiting === 1);
    const closed = state[Symbol.asyncDispose]();
    gated.commit.open();
    await Promise.allSettled([write, closed]);
    await assert.rejects(state.write(put('late')), hasCode('aborted'));
    assert.ok(state.snapshot.ownersInDoubt);
    assert.equal(clock.timers, 0, 'a timer is left behind');
    await turns();
    assert.ok(!process.getActiveResourcesInfo().includes('Immediate'), 'it goes round and round');
  });
});
