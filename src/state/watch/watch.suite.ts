/** The contract of waiters, change topics, the change feed, and row formats, for any engine. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { gatedEngine } from '../../../test/support/state/gated-engine.ts';
import { openState } from '../../../test/support/state/state.ts';
import type { MakeStore } from '../../../test/support/state/store.ts';
import { type Counter, counters, organizations, reservations, teams } from '../../../test/support/state/tables.ts';
import { until } from '../../../test/support/until.ts';
import { nextTurn } from '../clock/next-turn.ts';
import { isStateError } from '../errors.ts';
import { defineSchema, defineTable } from '../table.ts';
import type { Change } from './change-feed.ts';

const counter = (id: string, value = 0, partition = 'p'): Counter => ({ id, value, partition });

/** Runs the suite on the stores that `makeStore` makes. */
export function followingContract(name: string, makeStore: MakeStore): void {
  describe(`change notification on ${name}`, { timeout: 120_000 }, () => {
    describe('topic index', () => indexSuite(makeStore));
    describe('waiter', () => waiterSuite(makeStore));
    describe('change feed', () => feedSuite(makeStore));
    describe('row decoding', () => formatSuite(makeStore));
  });
}

function indexSuite(makeStore: MakeStore): void {
  it('is the index of the last change or deletion of a row [STATE-71] [STATE-72]', async () => {
    await using store = await makeStore();
    await using state = await openState(store.engine());
    const rowIndex = (id: string): number => state.watchRow(counters, id).index;
    const missing = rowIndex('a');
    assert.ok(missing <= state.snapshot.index);
    await state.write((tx) => void tx.put(counters, counter('a')));
    const created = state.snapshot.index;
    await state.write((tx) => void tx.put(counters, counter('b')));
    assert.equal(rowIndex('a'), created, 'another row does not move it');
    await state.write((tx) => tx.delete(counters, 'a'));
    const removed = state.snapshot.index;
    await state.write((tx) => void tx.put(counters, counter('b', 1)));
    assert.equal(rowIndex('a'), removed);
    await state.write((tx) => void tx.put(counters, counter('a')));
    assert.equal(rowIndex('a'), state.snapshot.index);
  });

  // Verifies [STATE-72].
  it('is the index of the last change below an entry, and does not fall when the newest row is deleted', async () => {
    await using store = await makeStore();
    await using state = await openState(store.engine());
    const index = (entry: string): number => state.watchEntry(counters, 'partition', entry).index;
    await state.write((tx) => void tx.put(counters, counter('a', 0, 'p')));
    const first = state.snapshot.index;
    await state.write((tx) => void tx.put(counters, counter('b', 0, 'q')));
    assert.equal(index('p'), first, 'another entry does not move it');
    await state.write((tx) => void tx.put(counters, counter('c', 0, 'p')));
    await state.write((tx) => tx.delete(counters, 'c'));
    const removed = state.snapshot.index;
    assert.equal(index('p'), removed);
    await state.write((tx) => void tx.put(counters, counter('a', 0, 'q')));
    assert.equal(index('p'), state.snapshot.index, 'the entry that the row left');
    assert.equal(index('q'), state.snapshot.index, 'the entry that the row moved to');
    assert.ok(index('never') <= state.snapshot.index);
  });

  it("starts at the loaded index for entries, and at the row's own index for rows [STATE-74]", async () => {
    await using store = await makeStore();
    const before = await openState(store.engine());
    await before.write((tx) => void tx.put(counters, counter('a')));
    const created = before.snapshot.index;
    await before.write((tx) => void tx.put(counters, counter('b')));
    await before.write((tx) => tx.delete(counters, 'b'));
    await before[Symbol.asyncDispose]();
    await using state = await openState(store.engine());
    assert.equal(state.watchEntry(counters, 'partition', 'p').index, state.snapshot.index);
    assert.equal(state.watchRow(counters, 'b').index, state.snapshot.index);
    assert.equal(state.watchRow(counters, 'a').index, created);
  });

  it("is at least the index of the owner's deletion for orphaned rows, and never falls [STATE-83]", async () => {
    await using store = await makeStore();
    await using state = await openState(store.engine());
    await state.write((tx) => {
      for (const id of ['o', 'empty']) tx.put(organizations, { id, name: id });
      tx.put(teams, { id: 't', organization: 'o', name: 't' });
    });
    const watched = (): number[] => [
      state.watchEntry(teams, 'organization', 'o').index,
      state.watchEntry(teams, 'organization', 'empty').index,
      state.watchRow(teams, 't').index,
      state.watchRow(teams, 'never').index,
    ];
    let reported = watched();
    await state.write((tx) => tx.delete(organizations, 'o'));
    const removed = state.snapshot.index;
    assert.ok((watched()[0] ?? 0) >= removed);
    assert.ok((watched()[2] ?? 0) >= removed);
    for (let turn = 0; turn < 20; turn++) {
      const now = watched();
      for (const [i, index] of now.entries())
        assert.ok(index >= (reported[i] ?? 0), `${i}: ${reported[i]} fell to ${index}`);
      reported = now;
      await nextTurn();
    }
    assert.equal(state.snapshot.mayHaveOrphans, false);
  });

  it('does not fall for an expired row before a job deletes it [STATE-86]', async () => {
    await using store = await makeStore();
    await using state = await openState(store.engine());
    await state.write((tx) => void tx.put(counters, counter('a')));
    await state.write((tx) => void tx.put(reservations, { name: 'n', holder: 'h', until: Date.now() + 50 }));
    const created = state.snapshot.index;
    assert.equal(state.watchRow(reservations, 'n').index, created);
    await until('the row has expired', () => state.snapshot.get(reservations, 'n') === undefined);
    assert.ok(state.watchRow(reservations, 'n').index >= created);
  });
}

function waiterSuite(makeStore: MakeStore): void {
  it('is woken by a change of its topic, and can then read the change [STATE-68] [STATE-69]', async () => {
    await using store = await makeStore();
    await using state = await openState(store.engine());
    const woken = new Promise((resolve) => {
      state.wait([state.watchRow(counters, 'a').topic], () => resolve(state.snapshot.get(counters, 'a')?.row.value));
    });
    await state.write((tx) => void tx.put(counters, counter('b', 1)));
    await nextTurn();
    assert.equal(state.waiterCount, 1, 'another row wakes no waiter');
    await state.write((tx) => void tx.put(counters, counter('a', 7)));
    assert.equal(await woken, 7);
    assert.equal(state.waiterCount, 0);
  });

  it('is not woken by a rejected write [STATE-69]', async () => {
    await using store = await makeStore();
    await using state = await openState(store.engine());
    let woken = 0;
    state.wait(
      [state.watchRow(counters, 'a').topic, state.watchEntry(counters, 'partition', 'p').topic],
      () => woken++,
    );
    const rejected = state.write((tx) => {
      tx.put(counters, counter('a'));
      throw new RangeError('no');
    });
    await Promise.allSettled([rejected, state.write((tx) => void tx.put(counters, counter('b', 0, 'q')))]);
    for (let turn = 0; turn < 5; turn++) await nextTurn();
    assert.equal(woken, 0);
  });

  it('is woken by a reload, and finds every topic at the loaded index [STATE-76]', async () => {
    await using store = await makeStore();
    const gated = gatedEngine(store.engine());
    await using state = await openState(gated.engine);
    await state.write((tx) => void tx.put(counters, counter('a')));
    let woken = 0;
    state.wait([state.watchRow(counters, 'x').topic], () => woken++);
    state.wait([state.watchEntry(counters, 'partition', 'x').topic], () => woken++);
    gated.break('requested by the test');
    await until('both waiters are woken', () => woken === 2);
    assert.equal(state.watchEntry(counters, 'partition', 'x').index, state.snapshot.index);
  });
}

function feedSuite(makeStore: MakeStore): void {
  it('delivers each commit in order, with the previous and the new rows [STATE-77]', async () => {
    await using store = await makeStore();
    await using state = await openState(store.engine());
    await state.write((tx) => void tx.put(counters, counter('a', 1)));
    const { index } = state.snapshot;
    const stop = new AbortController();
    const changes: Change[] = [];
    const following = (async () => {
      for await (const change of state.changes(stop.signal)) changes.push(change);
    })();
    await state.write((tx) => {
      tx.put(counters, counter('a', 2));
      tx.put(counters, counter('a', 3));
      tx.put(counters, counter('b', 1));
    });
    await state.write((tx) => tx.delete(counters, 'a'));
    await assert.rejects(
      state.write((tx) => {
        tx.put(counters, counter('c'));
        throw new RangeError('no');
      }),
    );
    await until('both commits are delivered', () => changes.length === 2);
    stop.abort();
    await following;
    const delivered = changes.map((change) => [
      change.index,
      change.changes.map(({ table, key, before, after }) => [
        table.name,
        key,
        (before?.row as Counter | undefined)?.value,
        (after?.row as Counter | undefined)?.value,
      ]),
    ]);
    assert.deepEqual(delivered, [
      [
        index + 1,
        [
          ['counters', 'a', 1, 3],
          ['counters', 'b', undefined, 1],
        ],
      ],
      [index + 2, [['counters', 'a', 3, undefined]]],
    ]);
  });

  it('disconnects every consumer on a reload [STATE-78]', async () => {
    await using store = await makeStore();
    const gated = gatedEngine(store.engine());
    await using state = await openState(gated.engine);
    const following = (async () => {
      for await (const _ of state.changes(new AbortController().signal));
    })();
    const cut = assert.rejects(following, (error) => isStateError(error, 'fell-behind'));
    await nextTurn();
    gated.break('requested by the test');
    await cut;
  });
}

/** A table in two versions. The newer one adds a color, and reads and writes rows of the older one. */
function versions() {
  interface First {
    readonly id: string;
    readonly name: string;
  }
  interface Second extends First {
    readonly color: string;
  }
  const first = defineTable<First>()({
    name: 'things',
    key: (row) => row.id,
    formats: { version: 1 },
    indexes: { name: { entry: (row) => row.name, unique: true } },
  });
  const second = defineTable<Second>()({
    name: 'things',
    key: (row) => row.id,
    formats: {
      version: 2,
      read: { 1: (stored) => ({ ...(stored as First), color: 'gray' }) },
      write: { 1: ({ id, name }) => ({ id, name }) },
    },
    indexes: { name: { entry: (row) => row.name, unique: true }, color: { entry: (row) => row.color } },
  });
  return { first, second, older: defineSchema([first]), newer: defineSchema([second]) };
}

function formatSuite(makeStore: MakeStore): void {
  it('converts a row of an older version on reading, and replaces it with the next change [STATE-28]', async () => {
    await using store = await makeStore();
    const { first, second, older, newer } = versions();
    const old = await openState(store.engine(), { schema: older });
    await old.write((tx) => {
      for (const id of ['a', 'b']) tx.put(first, { id, name: id });
    });
    await old[Symbol.asyncDispose]();
    const gated = gatedEngine(store.engine());
    await using state = await openState(gated.engine, { schema: newer });
    assert.deepEqual(
      state.snapshot.list(second, 'color', 'gray').map(({ row }) => row.id),
      ['a', 'b'],
    );
    await until('the server is the only member', () => state.liveNodes.length === 1);
    await state.write((tx) => void tx.put(second, { id: 'a', name: 'a', color: 'red' }));
    assert.match(gated.commits.at(-1)?.operations[0]?.value ?? '', /^\[2,.*"color":"red"/);
    assert.equal(state.snapshot.get(second, 'b')?.row.color, 'gray');
  });

  it('rejects a row of a newer version with the reason and the remedy [STATE-31]', async () => {
    await using store = await makeStore();
    const { second, older, newer } = versions();
    const state = await openState(store.engine(), { schema: newer });
    await state.write((tx) => void tx.put(second, { id: 'a', name: 'a', color: 'red' }));
    await state[Symbol.asyncDispose]();
    await assert.rejects(openState(store.engine(), { schema: older }), (error) => {
      assert.ok(isStateError(error, 'corrupt'));
      assert.match(error.message, /table 'things' (has|in) format 2, but this version reads up to 1/);
      assert.match(error.message, /that version or a later one/);
      return true;
    });
  });

  it('leaves the rows of an undeclared table in the store unread [STATE-25]', async () => {
    await using store = await makeStore();
    const { first, older } = versions();
    const both = await openState(store.engine());
    await both.write((tx) => void tx.put(counters, counter('a')));
    await both[Symbol.asyncDispose]();
    const narrow = await openState(store.engine(), { schema: older });
    await narrow.write((tx) => void tx.put(first, { id: 'x', name: 'x' }));
    assert.equal(narrow.snapshot.rowCount, 1);
    await narrow[Symbol.asyncDispose]();
    await using again = await openState(store.engine());
    assert.equal(again.snapshot.get(counters, 'a')?.row.value, 0);
  });
}
