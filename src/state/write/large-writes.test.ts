/** Large writes: they run in slices, alone in a batch, and alternate with batches of other writes. */
import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { type GatedEngine, gatedEngine } from '../../../test/support/state/gated-engine.ts';
import { openState, type TestStateSettings } from '../../../test/support/state/state.ts';
import { sqliteStore, type TestStore } from '../../../test/support/state/store.ts';
import { counters } from '../../../test/support/state/tables.ts';
import { until } from '../../../test/support/until.ts';
import type { CommitLimits } from '../engine/engine.ts';
import { isStateError, type StateErrorCode } from '../errors.ts';
import { ATTEMPTS_MS, LARGE_WRITES_BYTES_MAX, LARGE_WRITES_MAX, SLICE_MS } from '../limits.ts';
import type { State } from '../state.ts';
import type { Transaction } from './transaction.ts';

/** Takes longer than a slice, so that the next pause ends the slice. */
function spendSlice(): void {
  const endMs = performance.now() + SLICE_MS + 1;
  while (performance.now() < endMs);
}

const hasCode =
  (code: StateErrorCode) =>
  (error: unknown): boolean =>
    isStateError(error, code);

describe('State.writeInSlices', { timeout: 60_000 }, () => {
  let store: TestStore;
  let gated: GatedEngine;
  let state: State;

  const open = async (limits?: Partial<CommitLimits>, settings?: TestStateSettings): Promise<void> => {
    gated = gatedEngine(store.engine(), limits);
    state = await openState(gated.engine, { clock: createFakeClock(), ...settings });
  };
  const put =
    (id: string, value = 0) =>
    (tx: Transaction): void =>
      void tx.put(counters, { id, value, partition: 'p' });
  /** Puts each counter in a slice of its own. */
  const large = (ids: readonly string[], onSlice: (tx: Transaction, id: string) => unknown = () => undefined) =>
    function* (tx: Transaction): Generator<void, number> {
      for (const id of ids) {
        put(id)(tx);
        onSlice(tx, id);
        spendSlice();
        yield;
      }
      return ids.length;
    };
  const stored = (): readonly string[] => state.snapshot.all(counters).map(({ row }) => row.id);

  beforeEach(async () => {
    store = await sqliteStore();
  });
  afterEach(async () => {
    for (const gate of [gated.commit, gated.acknowledge, gated.head, gated.load]) gate.open();
    await state[Symbol.asyncDispose]();
    await store[Symbol.asyncDispose]();
  });

  it('has at least three attempts, also if one takes longer than 5 s [STATE-45]', async () => {
    const clock = createFakeClock();
    await open({}, { clock });
    gated.commit.close();
    const written = state.writeInSlices(large(['a']));
    written.catch(() => undefined);
    for (let attempt = 1; attempt <= 3; attempt++) {
      await until('the commit is at the store', () => gated.commit.waiting === 1 && gated.commits.length === attempt);
      await clock.run(ATTEMPTS_MS + 1);
      const row = JSON.stringify([1, 2, 2, { id: 'b', value: attempt, partition: 'p' }]);
      await gated.commitElsewhere([{ table: 'counters', key: 'b', value: row }]);
      gated.commit.step();
    }
    await assert.rejects(written, hasCode('overloaded'));
    assert.equal(gated.commits.length, 3);
  });

  it('gives the event loop back after each slice, and commits everything at once [STATE-111]', async () => {
    await open();
    const seen: (readonly string[])[] = [];
    let ended = false;
    const written = state.writeInSlices(large(['a', 'b', 'c'])).then((count) => {
      ended = true;
      return count;
    });
    const watch = (): void => {
      seen.push(stored());
      if (!ended) setImmediate(watch);
    };
    watch();
    assert.equal(await written, 3);
    assert.ok(seen.length >= 3, `${seen.length} turns`);
    const partial = seen.filter(({ length }) => length > 0 && length < 3);
    assert.deepEqual(partial, []);
    assert.deepEqual(stored(), ['a', 'b', 'c']);
  });

  it('lets other writes wait until it has ended, and they see its changes [STATE-111]', async () => {
    await open();
    const slices: number[] = [];
    const written = state.writeInSlices(large(['a', 'b', 'c'], () => slices.push(0)));
    await until('the first slice has run', () => slices.length > 0);
    const [, count] = await Promise.all([written, state.write((tx) => tx.all(counters).length)]);
    assert.equal(count, 3);
  });

  it('runs one large write after each batch of other writes [STATE-112]', async () => {
    await open();
    gated.commit.close();
    const order: string[] = [];
    const note = (name: string) => () => void order.push(name);
    const first = state.write(put('first')).then(note('first'));
    await until('the first write is committing', () => gated.commit.waiting === 1);
    const all = [
      first,
      state.writeInSlices(large(['large-1'])).then(note('large-1')),
      state.writeInSlices(large(['large-2'])).then(note('large-2')),
      state.write(put('small-1')).then(note('small-1')),
      state.write(put('small-2')).then(note('small-2')),
    ];
    gated.commit.open();
    await Promise.all(all);
    assert.deepEqual(order, ['first', 'large-1', 'small-1', 'small-2', 'large-2']);
  });

  it('keeps no change of a dry run, or of a write that throws [STATE-111]', async () => {
    await open();
    const { index } = state.snapshot;
    assert.equal(await state.writeInSlices(large(['a', 'b']), { dryRun: true }), 2);
    const failing = large(['a', 'b'], (_tx, id) => {
      if (id === 'b') throw new RangeError('no');
    });
    await assert.rejects(state.writeInSlices(failing), RangeError);
    assert.deepEqual([stored(), state.snapshot.index], [[], index]);
  });

  it('rejects a write over the limits of a commit or of rows [STATE-46] [STATE-52]', async () => {
    await open({ operationsMax: 2 }, { rowsMax: 1 });
    await assert.rejects(state.writeInSlices(large(['a', 'b', 'c'])), hasCode('rows-max'));
    await assert.rejects(state.writeInSlices(large(['a', 'b', 'c']), { beyondRowsMax: true }), hasCode('too-large'));
    assert.deepEqual(stored(), []);
  });

  it('runs again when another server has committed first [STATE-111]', async () => {
    await open();
    const ran: string[] = [];
    const written = state.writeInSlices(large(['a', 'b'], (_tx, id) => void ran.push(id)));
    await until('the first slice has run', () => ran.length === 1);
    const row = { id: 'other', value: 0, partition: 'p' };
    const value = JSON.stringify([1, state.snapshot.index + 1, state.snapshot.index + 1, row]);
    await gated.commitElsewhere([{ table: 'counters', key: 'other', value }]);
    await written;
    assert.ok(ran.length > 2, ran.join());
    assert.deepEqual(ran.slice(-2), ['a', 'b']);
    assert.deepEqual(stored(), ['a', 'b', 'other']);
  });

  it('goes on when the client of another pending write disconnects [STATE-112]', async () => {
    const clock = createFakeClock();
    await open({}, { clock });
    const ran: string[] = [];
    const written = state.writeInSlices(large(['a', 'b', 'c'], (_tx, id) => void ran.push(id)));
    await until('the first slice has run', () => ran.length === 1);
    const signal = AbortSignal.abort();
    const other = assert.rejects(state.write(put('other'), { signal }), hasCode('aborted'));
    clock.advance(1_000);
    await Promise.all([written, other]);
    assert.deepEqual(ran, ['a', 'b', 'c']);
  });

  it('cannot use the transaction while it pauses', async () => {
    await open();
    let tx: Transaction | undefined;
    const written = state.writeInSlices(
      large(['a', 'b'], (given) => {
        tx = given;
        setImmediate(() => assert.throws(() => put('x')(given), /after its write/));
      }),
    );
    await written;
    assert.ok(tx !== undefined);
    assert.deepEqual(stored(), ['a', 'b']);
  });

  it('rejects further large writes over their own limits [STATE-112]', async () => {
    await open();
    gated.commit.close();
    const first = state.write(put('first'));
    await until('the first write is committing', () => gated.commit.waiting === 1);
    const waiting = Array.from({ length: LARGE_WRITES_MAX }, (_, i) => state.writeInSlices(large([`l${i}`])));
    await assert.rejects(state.writeInSlices(large(['late'])), hasCode('overloaded'));
    // Other writes have limits of their own.
    const other = state.write(put('other'), { bytes: LARGE_WRITES_BYTES_MAX / 4 });
    gated.commit.open();
    await Promise.all([first, other, ...waiting]);
  });

  it('does not run a write whose client has disconnected [STATE-111]', async () => {
    await open();
    const controller = new AbortController();
    const left = large(['a', 'b'], () => controller.abort());
    await assert.rejects(state.writeInSlices(left, { signal: controller.signal }), hasCode('aborted'));
    assert.deepEqual(stored(), []);
  });
});
