/** The contract of writes and reads of the state, for any engine. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { testTimeout } from '../../test/support/state/engine-node.ts';
import { gatedEngine } from '../../test/support/state/gated-engine.ts';
import { dumpState, openState } from '../../test/support/state/state.ts';
import type { MakeStore } from '../../test/support/state/store.ts';
import { type Counter, counters, events, organizations, teams, testSchema } from '../../test/support/state/tables.ts';
import { until } from '../../test/support/until.ts';
import { systemClock } from './clock/clock.ts';
import { nextTurn } from './clock/next-turn.ts';
import { isStateError } from './errors.ts';

const counter = (id: string, value = 0, partition = 'p'): Counter => ({ id, value, partition });

/** A clock on which building a batch takes no time, so that a busy machine does not end a batch early. */
const timelessClock = { ...systemClock, monotonic: () => 0 };

/** Runs the suite on the stores that `makeStore` makes. */
export function stateContract(name: string, makeStore: MakeStore): void {
  describe(`state on ${name}`, { timeout: 120_000 }, () => {
    describe('write', () => writeSuite(makeStore));
    describe('batch', () => batchSuite(makeStore));
    describe('constraint', () => constraintSuite(makeStore));
    describe('memory for rows', () => memorySuite(makeStore));
    describe('reopening', () => reopenSuite(makeStore));
  });
}

function writeSuite(makeStore: MakeStore): void {
  it('resolves with its result, and its row carries the indexes of its commits [STATE-17] [STATE-32]', async () => {
    await using store = await makeStore();
    await using state = await openState(store.engine());
    const begun = state.snapshot.index;
    assert.equal(await state.write((tx) => tx.put(counters, counter('a')).row.id), 'a');
    assert.equal(state.snapshot.index, begun + 1);
    await state.write((tx) => tx.put(counters, counter('a', 1)));
    const stored = state.snapshot.get(counters, 'a');
    assert.deepEqual(stored, { row: counter('a', 1), createIndex: begun + 1, modifyIndex: begun + 2 });
  });

  it('reads its own changes and its future index', async () => {
    await using store = await makeStore();
    await using state = await openState(store.engine());
    const index = await state.write((tx) => {
      tx.put(counters, counter('a', 3));
      assert.equal(tx.get(counters, 'a')?.row.value, 3);
      assert.deepEqual(
        tx.list(counters, 'odd', 'odd').map(({ row }) => row.id),
        ['a'],
      );
      tx.put(counters, counter('a', 4));
      assert.deepEqual(tx.list(counters, 'odd', 'odd'), []);
      assert.equal(tx.delete(counters, 'a'), true);
      assert.equal(tx.delete(counters, 'a'), false);
      assert.equal(tx.get(counters, 'a'), undefined);
      tx.put(counters, counter('b'));
      return tx.index;
    });
    assert.equal(state.snapshot.index, index);
    assert.deepEqual(
      state.snapshot.all(counters).map(({ row }) => row.id),
      ['b'],
    );
  });

  // Verifies [STATE-51].
  it('settles a dry run with its outcome and keeps no change, next to other writes of the batch', async () => {
    await using store = await makeStore();
    await using state = await openState(store.engine());
    await state.write((tx) => tx.put(counters, counter('a', 1)));
    const begun = state.snapshot.index;
    const dryRun = true;
    const [dry, real, rejected] = await Promise.allSettled([
      state.write(
        (tx) => {
          tx.put(counters, counter('a', 2));
          return tx.put(counters, counter('b')).row.id;
        },
        { dryRun },
      ),
      state.write((tx) => {
        assert.deepEqual([tx.get(counters, 'a')?.row.value, tx.get(counters, 'b')], [1, undefined]);
        tx.put(counters, counter('c'));
      }),
      state.write(
        (tx) => {
          tx.delete(counters, 'a');
          throw new RangeError('rejected');
        },
        { dryRun },
      ),
    ]);
    assert.deepEqual(
      [dry, real],
      [
        { status: 'fulfilled', value: 'b' },
        { status: 'fulfilled', value: undefined },
      ],
    );
    assert.ok(rejected.status === 'rejected' && rejected.reason instanceof RangeError);
    assert.equal(state.snapshot.index, begun + 1);
    assert.equal(await state.write((tx) => tx.delete(counters, 'a'), { dryRun }), true);
    assert.equal(state.snapshot.index, begun + 1);
    assert.deepEqual(
      state.snapshot.all(counters).map(({ row }) => [row.id, row.value]),
      [
        ['a', 1],
        ['c', 0],
      ],
    );
  });

  it('rejects a dry run that would be too large as a write [STATE-51]', async () => {
    await using store = await makeStore();
    await using state = await openState(gatedEngine(store.engine(), { operationsMax: 3 }).engine);
    const many = state.write(
      (tx) => {
        for (const id of ['a', 'b', 'c', 'd']) tx.put(counters, counter(id));
      },
      { dryRun: true },
    );
    await assert.rejects(many, (error) => isStateError(error, 'too-large'));
  });

  it('leaves the index unchanged if it changes nothing [STATE-13]', async () => {
    await using store = await makeStore();
    await using state = await openState(store.engine());
    const begun = state.snapshot.index;
    assert.equal(await state.write((tx) => tx.delete(counters, 'never')), false);
    await assert.rejects(
      state.write(() => {
        throw new RangeError('rejected');
      }),
      RangeError,
    );
    assert.equal(state.snapshot.index, begun);
  });

  it('rejects with the error that it threw [STATE-32]', async () => {
    await using store = await makeStore();
    await using state = await openState(store.engine());
    const thrown = new RangeError('thrown by the write');
    await assert.rejects(
      state.write(() => {
        throw thrown;
      }),
      (error) => error === thrown,
    );
  });

  it('cannot use its transaction after it returned [STATE-33]', async () => {
    await using store = await makeStore();
    await using state = await openState(store.engine());
    const late = await state.write((tx) => ({
      put: () => tx.put(counters, counter('late')),
      append: () => tx.append(events, { id: 'late', text: '' }),
    }));
    assert.throws(late.put, /after its write/);
    assert.throws(late.append, /after its write/);
    assert.equal(state.snapshot.get(counters, 'late'), undefined);
  });

  it('does not change an earlier snapshot [STATE-56]', async () => {
    await using store = await makeStore();
    await using state = await openState(store.engine());
    await state.write((tx) => {
      for (let i = 0; i < 100; i++) tx.put(counters, counter(`k${i}`, i));
    });
    const { snapshot } = state;
    const before = dumpState(snapshot);
    for (let i = 0; i < 100; i += 3) {
      await state.write((tx) => {
        tx.delete(counters, `k${i}`);
        tx.put(counters, counter(`k${i + 1}`, -1, 'q'));
      });
    }
    assert.deepEqual(dumpState(snapshot), before);
    assert.notDeepEqual(dumpState(state.snapshot), before);
  });

  it('is rejected if it is pending when the state closes, or arrives later [STATE-34] [STATE-53]', async () => {
    await using store = await makeStore();
    const gated = gatedEngine(store.engine());
    const state = await openState(gated.engine);
    gated.commit.close();
    const running = state.write((tx) => void tx.put(counters, counter('running')));
    await until('the first write is committing', () => gated.commit.waiting === 1);
    const waiting = state.write((tx) => void tx.put(counters, counter('waiting')));
    const rejected = assert.rejects(waiting, (error) => isStateError(error, 'aborted'));
    const settled = running.then(
      () => undefined,
      () => undefined,
    );
    const closed = state[Symbol.asyncDispose]();
    gated.commit.open();
    await Promise.all([closed, rejected, settled]);
    await assert.rejects(
      state.write(() => 1),
      (error) => isStateError(error, 'aborted'),
    );
    await using again = await openState(store.engine());
    assert.equal(again.snapshot.get(counters, 'waiting'), undefined);
  });
}

function batchSuite(makeStore: MakeStore): void {
  it('commits the writes of one turn together, run in order of arrival [STATE-35]', async () => {
    await using store = await makeStore();
    await using state = await openState(store.engine(), { clock: timelessClock });
    const begun = state.snapshot.index;
    const order = await Promise.all(
      Array.from({ length: 50 }, (_, i) =>
        state.write((tx) => {
          const value = (tx.get(counters, 'n')?.row.value ?? 0) + 1;
          tx.put(counters, counter('n', value));
          tx.put(counters, counter(`k${i}`, value));
          return value;
        }),
      ),
    );
    assert.deepEqual(
      order,
      Array.from({ length: 50 }, (_, i) => i + 1),
    );
    assert.equal(state.snapshot.index, begun + 1);
  });

  it('undoes the changes of a write that throws, and of no other [STATE-36]', async () => {
    await using store = await makeStore();
    await using state = await openState(store.engine());
    await state.write((tx) => {
      tx.put(organizations, { id: 'o', name: 'old' });
      tx.put(counters, counter('kept', 1));
    });
    const seen: unknown[] = [];
    const outcomes = await Promise.allSettled([
      state.write((tx) => void tx.put(counters, counter('first', 1))),
      state.write((tx) => {
        tx.put(counters, counter('first', 2));
        tx.put(counters, counter('second', 2));
        tx.delete(counters, 'kept');
        tx.delete(organizations, 'o');
        tx.put(organizations, { id: 'p', name: 'old' });
        tx.append(events, { id: 'e', text: 'never' });
        // A bug in a write rejects it.
        return (undefined as unknown as { missing: () => void }).missing();
      }),
      state.write((tx) => {
        seen.push(
          tx.get(counters, 'first')?.row.value,
          tx.get(counters, 'second'),
          tx.get(counters, 'kept')?.row.value,
        );
        seen.push(tx.find(organizations, 'name', 'old')?.row.id, tx.list(counters, 'partition', 'p').length);
        tx.put(counters, counter('third', 3));
      }),
    ]);
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    );
    assert.ok(outcomes[1]?.status === 'rejected' && outcomes[1].reason instanceof TypeError);
    assert.deepEqual(seen, [1, undefined, 1, 'o', 2]);
    assert.deepEqual(
      state.snapshot.all(counters).map(({ row }) => row.id),
      ['first', 'kept', 'third'],
    );
    assert.deepEqual(await state.scan(events, { limit: 9 }, testTimeout()), []);
  });

  // Verifies [STATE-7] [STATE-44].
  it('settles values, rejections, and no-ops only when the batch is durable [STATE-1] [STATE-6]', async () => {
    await using store = await makeStore();
    const gated = gatedEngine(store.engine());
    await using state = await openState(gated.engine);
    const settled: string[] = [];
    const note = (what: string) => (): void => void settled.push(what);
    gated.commit.close();
    const writes = [
      state.write((tx) => void tx.put(counters, counter('a'))).then(note('value')),
      state
        .write((tx) => {
          if (tx.get(counters, 'a') !== undefined) throw new RangeError('taken');
        })
        .catch(note('rejection')),
      state.write((tx) => tx.delete(counters, 'never')).then(note('no-op')),
    ];
    await until('the batch is at the store', () => gated.commit.waiting === 1);
    for (let turn = 0; turn < 10; turn++) await nextTurn();
    assert.deepEqual(settled, []);
    assert.equal(state.snapshot.get(counters, 'a'), undefined, 'no reader sees changes that could still be lost');
    gated.acknowledge.close();
    gated.commit.open();
    await until('the store has the commit', () => gated.acknowledge.waiting === 1);
    for (let turn = 0; turn < 10; turn++) await nextTurn();
    assert.deepEqual(settled, []);
    gated.acknowledge.open();
    await Promise.all(writes);
    assert.deepEqual(settled, ['value', 'rejection', 'no-op']);
  });

  it('commits only the last operation of each key [STATE-38]', async () => {
    await using store = await makeStore();
    const gated = gatedEngine(store.engine());
    await using state = await openState(gated.engine, { clock: timelessClock });
    await Promise.all([
      state.write((tx) => void tx.put(counters, counter('a', 1))),
      state.write((tx) => void tx.put(counters, counter('b', 1))),
      state.write((tx) => tx.delete(counters, 'a')),
      state.write((tx) => void tx.put(counters, counter('b', 2))),
    ]);
    const operations = gated.commits.flatMap((commit) => commit.operations).filter(({ table }) => table === 'counters');
    assert.deepEqual(operations.map(({ key }) => key).toSorted(), ['a', 'b']);
    assert.equal(operations.find(({ key }) => key === 'a')?.value, null);
    assert.match(operations.find(({ key }) => key === 'b')?.value ?? '', /"value":2/);
  });

  it('ends at the operation limit of the store, without splitting a write [STATE-39]', async () => {
    await using store = await makeStore();
    const gated = gatedEngine(store.engine(), { operationsMax: 10 });
    await using state = await openState(gated.engine, { clock: timelessClock });
    await Promise.all(
      Array.from({ length: 9 }, (_, i) =>
        state.write((tx) => {
          for (let j = 0; j < 4; j++) tx.put(counters, counter(`${i}-${j}`));
        }),
      ),
    );
    assert.deepEqual(
      gated.commits.map(({ operations }) => operations.length),
      [8, 8, 8, 8, 4],
    );
    assert.equal(state.snapshot.all(counters).length, 36);
  });
}

function constraintSuite(makeStore: MakeStore): void {
  // Verifies [STATE-20].
  it('rejects a second existing row in a unique index, and lets an entry move within one write', async () => {
    await using store = await makeStore();
    await using state = await openState(store.engine());
    await state.write((tx) => {
      tx.put(organizations, { id: '1', name: 'red' });
      tx.put(organizations, { id: '2', name: 'blue' });
    });
    await assert.rejects(
      state.write((tx) => tx.put(organizations, { id: '3', name: 'red' })),
      { name: 'UniqueError' },
    );
    assert.equal(state.snapshot.get(organizations, '3'), undefined);
    await state.write((tx) => {
      tx.put(organizations, { id: '1', name: 'white' });
      tx.put(organizations, { id: '2', name: 'red' });
      tx.put(organizations, { id: '1', name: 'blue' });
    });
    assert.equal(state.snapshot.find(organizations, 'name', 'red')?.row.id, '2');
    assert.equal(state.snapshot.find(organizations, 'name', 'blue')?.row.id, '1');
    assert.equal(state.snapshot.find(organizations, 'name', 'white'), undefined);
  });

  it('rejects a row whose owner is missing or was deleted by the same write [STATE-80]', async () => {
    await using store = await makeStore();
    await using state = await openState(store.engine());
    await assert.rejects(
      state.write((tx) => tx.put(teams, { id: 't', organization: 'none', name: 'x' })),
      /the owner of a row of table 'teams' does not exist/,
    );
    await state.write((tx) => void tx.put(organizations, { id: 'o', name: 'o' }));
    await assert.rejects(
      state.write((tx) => {
        tx.delete(organizations, 'o');
        tx.put(teams, { id: 't', organization: 'o', name: 'x' });
      }),
      /the owner of a row of table 'teams' does not exist/,
    );
    assert.ok(state.snapshot.get(organizations, 'o') !== undefined, 'the deletion was undone');
  });

  it('rejects keys with NUL or lone surrogates [STATE-23]', async () => {
    await using store = await makeStore();
    await using state = await openState(store.engine());
    for (const id of ['a\u0000b', 'half a \ud83d pair']) {
      await assert.rejects(
        state.write((tx) => tx.put(counters, counter(id))),
        TypeError,
      );
      await assert.rejects(
        state.write((tx) => tx.append(events, { id, text: '' })),
        TypeError,
      );
    }
    await assert.rejects(
      state.write((tx) => tx.put(counters, counter('a', 0, 'p\u0000a'))),
      TypeError,
    );
    assert.deepEqual(state.snapshot.all(counters), []);
    assert.deepEqual(state.snapshot.list(counters, 'partition', 'p'), []);
  });

  // Verifies [STATE-52].
  it('rejects rows beyond rows-max, allows changes and deletions, and does not count store-only rows', async () => {
    await using store = await makeStore();
    await using state = await openState(store.engine(), { rowsMax: 3 });
    await state.write((tx) => {
      for (const id of ['a', 'b']) tx.put(counters, counter(id));
      tx.append(events, { id: 'e', text: '' });
    });
    const tooMany = (tx: Parameters<Parameters<typeof state.write>[0]>[0]): void => {
      tx.put(counters, counter('c'));
      tx.put(counters, counter('d'));
    };
    const isRejection = (error: unknown): boolean =>
      isStateError(error, 'rows-max') &&
      error.message === 'the state holds 2 rows, state.rows-max is 3: remove rows or raise it';
    await assert.rejects(state.write(tooMany), isRejection);
    await state.write(tooMany, { beyondRowsMax: true });
    assert.equal(state.snapshot.rowCount, 4);
    await state.write((tx) => [tx.delete(counters, 'c'), tx.delete(counters, 'd')]);
    const outcomes = await Promise.allSettled([
      state.write((tx) => void tx.put(counters, counter('c'))),
      state.write((tx) => void tx.put(counters, counter('d'))),
      state.write((tx) => void tx.put(counters, counter('a', 1))),
      state.write((tx) => {
        tx.delete(counters, 'a');
        tx.put(counters, counter('e'));
      }),
      state.write((tx) => tx.delete(counters, 'b')),
      state.write((tx) => void tx.put(counters, counter('f'))),
    ]);
    const statuses = ['fulfilled', 'rejected', 'fulfilled', 'fulfilled', 'fulfilled', 'fulfilled'];
    assert.deepEqual(
      outcomes.map(({ status }) => status),
      statuses,
    );
    assert.deepEqual(
      state.snapshot.all(counters).map(({ row }) => row.id),
      ['c', 'e', 'f'],
    );
    assert.equal(state.snapshot.rowCount, 3);
  });
}

function memorySuite(makeStore: MakeStore): void {
  const memory = (bytesMax: number, loadBytesMax = 2 * bytesMax) => ({
    bytesMax,
    loadBytesMax,
    reason: 'the test has no more',
  });

  it('rejects rows beyond the memory for rows, and allows deletions and small changes [STATE-52] [STATE-113]', async () => {
    await using store = await makeStore();
    await using state = await openState(store.engine(), { memory: memory(100_000) });
    const put = (id: string, length = 10_000) =>
      state.write((tx) => void tx.put(organizations, { id, name: id.repeat(length) }));
    const isRejection = (error: unknown): boolean =>
      isStateError(error, 'rows-max') && /of 0 MiB of memory: the test has no more/.test(error.message);
    for (const id of ['a', 'b', 'c', 'd']) await put(id);
    const { rowBytes } = state.snapshot;
    assert.ok(rowBytes > 40_000 && rowBytes < 100_000, `${rowBytes}`);
    await assert.rejects(put('e', 60_000), isRejection);
    await assert.rejects(put('a', 80_000), isRejection);
    assert.equal(state.snapshot.rowBytes, rowBytes);
    // Nearly fills the memory, so that only the reserve is left for changes that add no row.
    await put('b', 10_000 + 99_900 - rowBytes);
    await assert.rejects(put('f', 1), isRejection);
    await put('a', 10_500);
    await assert.rejects(put('f', 1), isRejection);
    await state.write((tx) => tx.delete(organizations, 'b'));
    await put('f', 1);
    for (const { row } of state.snapshot.all(organizations)) {
      await state.write((tx) => tx.delete(organizations, row.id));
    }
    assert.equal(state.snapshot.rowBytes, 0);
  });

  it('fails to load more rows than memory holds, with the reason [STATE-113]', async () => {
    await using store = await makeStore();
    const large = await openState(store.engine());
    for (let i = 0; i < 20; i++)
      await large.write((tx) => void tx.put(organizations, { id: `${i}`, name: `${i}`.repeat(10_000) }));
    await large[Symbol.asyncDispose]();
    await assert.rejects(
      openState(store.engine(), { memory: memory(50_000) }),
      (error) => isStateError(error, 'memory-full') && error.message.endsWith(': the test has no more'),
    );
  });
}

function reopenSuite(makeStore: MakeStore): void {
  it('restores rows, every index, and the index of the state [STATE-9] [STATE-19]', async () => {
    await using store = await makeStore();
    const live = await openState(store.engine());
    await live.write((tx) => {
      for (let i = 0; i < 60; i++) tx.put(counters, counter(`k${i}`, i, `p${i % 7}`));
      tx.put(organizations, { id: 'o', name: 'ö/ %"\\\n' });
      tx.put(teams, { id: 't', organization: 'o', name: '漢字 😀' });
    });
    await live.write((tx) => {
      for (let i = 0; i < 60; i += 2) tx.delete(counters, `k${i}`);
    });
    await live.write((tx) => {
      for (let i = 1; i < 60; i += 4) tx.put(counters, counter(`k${i}`, i + 1, 'moved'));
    });
    const before = { rows: dumpState(live.snapshot), index: live.snapshot.index, cluster: live.snapshot.cluster };
    await live[Symbol.asyncDispose]();
    await using again = await openState(store.engine());
    const { index, cluster } = again.snapshot;
    assert.deepEqual({ rows: dumpState(again.snapshot), index, cluster }, before);
  });

  it('keeps store-only tables out of memory, and scans them in the store [STATE-24] [STATE-63]', async () => {
    await using store = await makeStore();
    const ids = Array.from({ length: 30 }, (_, i) => `e${String(i).padStart(2, '0')}`);
    const live = await openState(store.engine());
    for (const id of ids) await live.write((tx) => tx.append(events, { id, text: `text of ${id}` }));
    await live[Symbol.asyncDispose]();
    await using state = await openState(store.engine());
    const scanned = await state.scan(events, { from: 'e10', to: 'e20', limit: 5, reverse: true }, testTimeout());
    assert.deepEqual(
      scanned.map(({ row }) => row.id),
      ['e19', 'e18', 'e17', 'e16', 'e15'],
    );
    assert.equal(scanned[0]?.row.text, 'text of e19');
    assert.throws(() => state.snapshot.get(events, 'e10'), TypeError);
    assert.equal(state.snapshot.rowCount, 0);
    assert.ok(testSchema.byName.has('events'));
  });
}
