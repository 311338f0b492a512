/** The write queue: its bounds, disconnected clients, conflicts, and reloads. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createFakeClock, type FakeClock } from '../../../test/support/fake-clock.ts';
import { type EngineOverrides, type GatedEngine, gatedEngine } from '../../../test/support/state/gated-engine.ts';
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
  ORPHAN_SLICE_ROWS,
  PENDING_BYTES_MAX,
  PENDING_WRITES_MAX,
  WRITE_MS_MAX,
} from '../limits.ts';
import type { State } from '../state.ts';
import type { Transaction } from './transaction.ts';

const counter = (id: string, value = 0): Counter => ({ id, value, partition: 'p' });

/** The operation with which another server sets a counter. */
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

  const open = async (pretence?: EngineOverrides, settings?: TestStateSettings): Promise<void> => {
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

  describe('limits', () => {
    it('rejects writes immediately while too many are pending [STATE-34] [STATE-110]', async () => {
      await open();
      gated.commit.close();
      const first = state.write(put('first'));
      await until('the first write is committing', () => gated.commit.waiting === 1);
      const waiting = Array.from({ length: PENDING_WRITES_MAX }, () => state.write((tx) => tx.now));
      await assert.rejects(state.write(put('late')), hasCode('overloaded'));
      gated.commit.open();
      await Promise.all([first, ...waiting]);
      await state.write(put('later'));
    });

    it('counts the estimated bytes of each pending write [STATE-110]', async () => {
      await open();
      gated.commit.close();
      const first = state.write(put('first'));
      await until('the first write is committing', () => gated.commit.waiting === 1);
      const half = { bytes: PENDING_BYTES_MAX / 2 };
      const waiting = [state.write(put('a'), half), state.write(put('b'), half)];
      await assert.rejects(state.write(put('c'), { bytes: 1 }), hasCode('overloaded'));
      gated.commit.open();
      await Promise.all([first, ...waiting]);
      // A single write is always accepted.
      await state.write(put('c'), { bytes: PENDING_BYTES_MAX + 1 });
    });

    it('does not count the rows of a rejected write [STATE-52]', async () => {
      await open(undefined, { rowsMax: 1 });
      const rejected = state.write((tx) => {
        put('a')(tx);
        put('b')(tx);
        throw new RangeError('no');
      });
      const made = state.write(put('c'));
      await assert.rejects(rejected, RangeError);
      await made;
      await assert.rejects(state.write(put('d')), hasCode('rows-max'));
    });

    it('rejects only the write that is too large, and names the limit to raise [STATE-46]', async () => {
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

    // Verifies [STATE-47].
    it('sends each write of a batch separately after the store rejected the batch as too large', async () => {
      await open();
      gated.commit.failNext(new StateError('too-large', 'the store rejects this batch'));
      await Promise.all(['a', 'b', 'c'].map((id) => state.write(put(id))));
      assert.deepEqual(
        gated.commits.map(({ operations }) => operations.length),
        [3, 1, 1, 1],
      );
      gated.commit.failNext(new StateError('too-large', 'the store rejects this batch'));
      gated.commit.failNext(new StateError('too-large', 'the store rejects this write'));
      const outcomes = await Promise.allSettled(['d', 'e'].map((id) => state.write(put(id))));
      assert.deepEqual(
        outcomes.map(({ status }) => status),
        ['rejected', 'fulfilled'],
      );
      assert.ok(outcomes[0]?.status === 'rejected' && /SQLite sets no limit/.test(String(outcomes[0].reason)));
    });

    it('rejects only the write that found the store full', async () => {
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

  describe('client', () => {
    it('is not served if it disconnects before its write starts [STATE-48]', async () => {
      await open();
      gated.commit.close();
      const first = state.write(put('first'));
      await until('the first write is committing', () => gated.commit.waiting === 1);
      const disconnect = new AbortController();
      const left = assert.rejects(state.write(put('left'), { signal: disconnect.signal }), hasCode('aborted'));
      disconnect.abort();
      gated.commit.open();
      await Promise.all([first, left]);
      assert.equal(state.snapshot.get(counters, 'left'), undefined);
    });

    it('does not make later writes run again when it disconnects [STATE-48]', async () => {
      await open();
      const add = (tx: Transaction): void => put('n', (tx.get(counters, 'n')?.row.value ?? 0) + 1)(tx);
      const left = assert.rejects(state.write(add, { signal: AbortSignal.abort() }), hasCode('aborted'));
      await Promise.all([left, state.write(add), state.write(add)]);
      await state.write(() => undefined);
      assert.equal(state.snapshot.get(counters, 'n')?.row.value, 2);
    });

    it('frees its place when it disconnects while the store does not answer', async () => {
      await open();
      gated.commit.close();
      const first = state.write(put('first'));
      await until('the first write is committing', () => gated.commit.waiting === 1);
      const disconnect = new AbortController();
      const left = Array.from({ length: PENDING_WRITES_MAX }, () =>
        assert.rejects(state.write(put('left'), { signal: disconnect.signal }), hasCode('aborted')),
      );
      await assert.rejects(state.write(put('more')), hasCode('overloaded'));
      disconnect.abort();
      await clock.run(1_000);
      await Promise.all(left);
      const more = state.write(put('more'));
      gated.commit.open();
      await Promise.all([first, more]);
    });

    // Verifies [STATE-49] [STATE-50].
    it('gets outcome-unknown for a write at the store and unavailable for a pending one, after the time limit', async () => {
      await open();
      gated.commit.close();
      const inFlight = assert.rejects(state.write(put('in flight')), hasCode('outcome-unknown'));
      await until('the first write is committing', () => gated.commit.waiting === 1);
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
    // Verifies [STATE-37] [STATE-43].
    it('discards every outcome and runs the writes again on the new rows, with the same time and IDs', async () => {
      await open({ shared: true });
      await state.write(put('n', 1));
      const runs: { id: number; now: number; seen: number | undefined }[] = [];
      let made = 0;
      gated.commit.close();
      const value = state.write((tx) => {
        const seen = tx.get(counters, 'n')?.row.value;
        runs.push({ id: tx.memoizeAcrossRetries(() => ++made), now: tx.now, seen });
        tx.put(counters, counter('n', (seen ?? 0) + 1));
        return seen;
      });
      const rejection = assert.rejects(
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
      await rejection;
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

    it('makes a batch without operations run again if the head has moved [STATE-41]', async () => {
      await open({ shared: true });
      gated.head.close();
      const rejection = assert.rejects(
        state.write((tx) => {
          const found = tx.get(counters, 'n');
          throw new RangeError(found === undefined ? 'missing' : 'existing');
        }),
        { message: 'existing' },
      );
      const noOp = state.write((tx) => tx.delete(counters, 'gone') || tx.get(counters, 'n')?.row.value);
      await until('the base is being proved', () => gated.head.waiting === 1);
      await gated.commitElsewhere([elsewhere('n', 7, state.snapshot.index + 1)]);
      gated.head.open();
      await rejection;
      assert.equal(await noOp, 7);
      assert.equal(gated.commits.length, 0);
    });

    it('fails a write with overloaded after too many attempts [STATE-45]', async () => {
      await open({ shared: true });
      let runs = 0;
      const write = assert.rejects(
        state.write((tx) => {
          runs++;
          put('n', runs)(tx);
        }),
        hasCode('overloaded'),
      );
      gated.commit.close();
      for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
        await until('the commit is at the store', () => gated.commits.length === attempt && gated.commit.waiting === 1);
        await gated.commitElsewhere([elsewhere('m', attempt, state.snapshot.index + 1)]);
        gated.commit.step();
      }
      await write;
      gated.commit.open();
      assert.equal(runs, ATTEMPTS_MAX);
      await state.write(put('n', 1));
    });

    it('fails a write with overloaded after too long a time [STATE-45]', async () => {
      await open({ shared: true });
      gated.commit.close();
      const write = assert.rejects(state.write(put('n')), hasCode('overloaded'));
      await until('the commit is at the store', () => gated.commit.waiting === 1);
      await gated.commitElsewhere([elsewhere('m', 1, state.snapshot.index + 1)]);
      await clock.run(ATTEMPTS_MS + 1);
      gated.commit.open();
      await write;
      assert.equal(gated.commits.length, 1);
    });

    it('fails a write with unavailable when this server cannot reload in time [STATE-49]', async () => {
      await open({ shared: true });
      gated.commit.close();
      const write = assert.rejects(state.write(put('n')), hasCode('unavailable'));
      await until('the commit is at the store', () => gated.commit.waiting === 1);
      gated.load.close();
      gated.break('requested by the test');
      await gated.commitElsewhere([elsewhere('m', 1, state.snapshot.index + 1)]);
      gated.commit.open();
      await until('the commit was rejected', () => gated.acknowledge.calls === 1 && gated.acknowledge.waiting === 0);
      await turns();
      await clock.run(WRITE_MS_MAX + 1_000);
      await write;
      gated.load.open();
      await state.write(put('n'));
    });
  });

  describe('reload', () => {
    it('makes a commit of the meantime visible before acknowledging it [STATE-44] [STATE-66]', async () => {
      await open();
      gated.acknowledge.close();
      const write = state.write(put('n', 5)).then(() => state.snapshot.get(counters, 'n')?.row.value);
      await until('the store has the commit', () => gated.acknowledge.waiting === 1);
      gated.load.close();
      gated.break('requested by the test');
      gated.acknowledge.open();
      await turns();
      gated.load.open();
      assert.equal(await write, 5);
    });

    it('delays reads and writes until it completes, and starts over after a break [STATE-64] [STATE-65]', async () => {
      await open();
      await state.write(put('n', 1));
      gated.load.close();
      gated.break('once');
      assert.equal(state.loaded, false);
      const read = state.consistent();
      assert.ok(read !== undefined, 'a consistent read waits for the load');
      const write = state.write(put('n', 2));
      await until('the load starts', () => gated.load.waiting === 1);
      const { calls } = gated.load;
      gated.break('twice');
      gated.break('three times');
      gated.load.open();
      await Promise.all([read, write]);
      assert.equal(gated.load.calls, calls + 1, 'one more load, not one per break');
      assert.equal(state.snapshot.get(counters, 'n')?.row.value, 2);
    });

    it('leaves orphans out, even if a commit built before it is made after it [STATE-66]', async () => {
      await open();
      await state.write((tx) => {
        for (const id of ['o', 'p']) tx.put(organizations, { id, name: id });
        for (let i = 0; i < ORPHAN_SLICE_ROWS * 3; i++)
          tx.put(teams, { id: `t${i}`, organization: 'o', name: `t${i}` });
      });
      await state.write((tx) => tx.delete(organizations, 'o'));
      gated.commit.close();
      const write = state.write((tx) => void tx.put(teams, { id: 'kept', organization: 'p', name: 'kept' }));
      await until('the commit is at the store', () => gated.commit.waiting === 1);
      assert.ok(state.snapshot.mayHaveOrphans, 'the batch was built on tables with orphans');
      gated.break('requested by the test');
      await until('the state is reloaded', () => state.loaded);
      gated.commit.open();
      await write;
      assert.deepEqual(
        state.snapshot.all(teams).map(({ row }) => row.id),
        ['kept'],
      );
      assert.equal(state.snapshot.rowCount, 2);
    });

    it('starts over once if a buffered commit does not follow the loaded index [STATE-14] [STATE-64]', async () => {
      await open();
      await state.write(put('n', 1));
      gated.load.close();
      gated.break('requested by the test');
      await until('the load starts', () => gated.load.waiting === 1);
      const { calls } = gated.load;
      gated.deliver(state.snapshot.index + 5);
      gated.load.open();
      await until('the state is reloaded', () => state.loaded);
      await state.write(put('n', 2));
      for (let turn = 0; turn < 50; turn++) await nextTurn();
      assert.equal(gated.load.calls, calls + 1);
      assert.equal(state.snapshot.get(counters, 'n')?.row.value, 2);
    });

    it('is retried when it fails [STATE-65]', async () => {
      await open();
      await state.write(put('n', 1));
      gated.load.failNext(new StateError('unavailable', 'the store does not answer'));
      gated.break('requested by the test');
      await until('the load failed', () => gated.load.calls === 2 && gated.load.waiting === 0);
      const write = state.write(put('n', 2));
      await clock.run(1_000);
      await write;
      assert.equal(state.loaded, true);
    });

    it('reports a fatal error for an unreadable row in a commit [STATE-67]', async () => {
      await open();
      await gated.commitElsewhere([{ table: 'counters', key: 'k', value: '[2,1,1,{}]' }]);
      const error = await state.fatal;
      assert.ok(isStateError(error, 'corrupt'));
      assert.match(error.message, /format 2.*newer version/s);
    });
  });

  describe('consistent read', () => {
    it('needs no barrier if no other process can commit [STATE-57] [SQLITE-15]', async () => {
      await open();
      assert.equal(state.consistent(), undefined);
    });

    it('waits until this server has every commit of the store [STATE-4] [STATE-57]', async () => {
      await open({ shared: true });
      gated.head.close();
      const read = state.consistent()?.then(() => state.snapshot.get(counters, 'n')?.row.value);
      await until('the head is read', () => gated.head.waiting === 1);
      await gated.commitElsewhere([elsewhere('n', 3, state.snapshot.index + 1)]);
      gated.head.open();
      assert.equal(await read, 3);
    });

    it('fails if the store does not answer [STATE-59]', async () => {
      await open({ shared: true });
      gated.head.close();
      const read = assert.rejects(Promise.resolve(state.consistent()), hasCode('unavailable'));
      await clock.run(BARRIER_MS);
      await read;
      gated.head.open();
      await state.consistent();
    });
  });

  it('stops with the state, even if orphans remain in memory [STATE-53]', async () => {
    await open();
    await state.write((tx) => {
      tx.put(organizations, { id: 'o', name: 'o' });
      for (let i = 0; i < ORPHAN_SLICE_ROWS * 3; i++) tx.put(teams, { id: `t${i}`, organization: 'o', name: `t${i}` });
    });
    await state.write((tx) => tx.delete(organizations, 'o'));
    gated.commit.close();
    const write = state.write(put('n'));
    await until('the commit is at the store', () => gated.commit.waiting === 1);
    const closed = state[Symbol.asyncDispose]();
    gated.commit.open();
    await Promise.allSettled([write, closed]);
    await assert.rejects(state.write(put('late')), hasCode('aborted'));
    assert.ok(state.snapshot.mayHaveOrphans);
    assert.equal(clock.timerCount, 0, 'no timer remains');
    await turns();
    assert.ok(!process.getActiveResourcesInfo().includes('Immediate'), 'the loop has stopped');
  });
});
