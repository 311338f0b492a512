/** The contract of rows that disappear without being deleted: with their owner, or at their expiry. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { testTimeout } from '../../../test/support/state/engine-node.ts';
import { gatedEngine } from '../../../test/support/state/gated-engine.ts';
import { dumpState, openState } from '../../../test/support/state/state.ts';
import type { MakeStore } from '../../../test/support/state/store.ts';
import {
  counters,
  events,
  organizations,
  type Reservation,
  reservations,
  type Token,
  teams,
  tokens,
} from '../../../test/support/state/tables.ts';
import { until } from '../../../test/support/until.ts';
import type { State } from '../state.ts';
import type { Transaction } from '../write/transaction.ts';
import { expiryJob } from './expiry.ts';

/** The rows of the removed owner in the large test. */
const OWNED_ROWS = 100_000;
/** A time that no test reaches, even if it advances its clock while it waits for a slow store. */
const NEVER_MS = 1_000_000_000;
/** Rows in one write, below the limit of one etcd transaction. */
const WRITE_ROWS = 120;

/** Runs the suite on the stores that `makeStore` makes. */
export function removalContract(name: string, makeStore: MakeStore): void {
  describe(`removal on ${name}`, { timeout: 150_000 }, () => {
    describe('owner', () => ownerSuite(makeStore));
    describe('expiry', () => expirySuite(makeStore));
  });
}

const token = (id: string, team: string, expiresAt?: number): Token =>
  expiresAt === undefined ? { id, team, hash: `hash of ${id}` } : { id, team, hash: `hash of ${id}`, expiresAt };

/** Creates two organizations with one team each, and `first` and `second` tokens in these teams. */
async function fill(state: State, first: number, second = first): Promise<void> {
  await state.write((tx) => {
    for (const o of ['o1', 'o2']) {
      tx.put(organizations, { id: o, name: o });
      tx.put(teams, { id: `t-${o}`, organization: o, name: 'team' });
    }
  });
  const writes: Promise<void>[] = [];
  for (const [o, count] of [
    ['o1', first],
    ['o2', second],
  ] as const) {
    for (let start = 0; start < count; start += WRITE_ROWS) {
      const put = (tx: Transaction): void => {
        for (let i = start; i < Math.min(start + WRITE_ROWS, count); i++) tx.put(tokens, token(`${o}-${i}`, `t-${o}`));
      };
      writes.push(state.write(put));
    }
  }
  await Promise.all(writes);
}

/** Returns the first token of organization `o1` in the store. The job deletes them in key order. */
async function firstStored(state: State): Promise<string | undefined> {
  const [first] = await state.scan(tokens, { from: 'o1-', to: 'o1.', limit: 1 }, testTimeout());
  return first?.row.id;
}

function ownerSuite(makeStore: MakeStore): void {
  it('hides everything below it in the commit of its deletion, at every depth [STATE-79] [STATE-81]', async () => {
    await using store = await makeStore();
    const gated = gatedEngine(store.engine());
    await using state = await openState(gated.engine);
    await fill(state, 50);
    const commits = gated.commits.length;
    await state.write((tx) => {
      tx.delete(organizations, 'o1');
      assert.equal(tx.get(teams, 't-o1'), undefined, 'in the same write');
      assert.equal(tx.get(tokens, 'o1-7'), undefined, 'at any depth');
    });
    const { snapshot } = state;
    assert.equal(gated.commits[commits]?.operations.length, 1, 'the commit does not grow with the owned rows');
    assert.equal(snapshot.get(teams, 't-o1'), undefined);
    assert.equal(snapshot.find(teams, 'name', 'o1/team'), undefined);
    assert.deepEqual(snapshot.list(teams, 'organization', 'o1'), []);
    assert.equal(snapshot.get(tokens, 'o1-7'), undefined);
    assert.equal(snapshot.find(tokens, 'hash', 'hash of o1-7'), undefined);
    assert.deepEqual(snapshot.list(tokens, 'team', 't-o1'), []);
    assert.equal(snapshot.all(tokens).length, 50);
    assert.equal(snapshot.first(tokens, 'team')?.row.team, 't-o2');
  });

  it('frees the unique entries of its rows immediately [STATE-21]', async () => {
    await using store = await makeStore();
    await using state = await openState(store.engine());
    await fill(state, 5);
    await state.write((tx) => {
      tx.delete(organizations, 'o1');
      tx.put(tokens, { id: 'new', team: 't-o2', hash: 'hash of o1-0' });
    });
    await state.write((tx) => void tx.put(tokens, { id: 'newer', team: 't-o2', hash: 'hash of o1-1' }));
    assert.equal(state.snapshot.find(tokens, 'hash', 'hash of o1-0')?.row.id, 'new');
    assert.equal(state.snapshot.find(tokens, 'hash', 'hash of o1-1')?.row.id, 'newer');
    await until('all orphans are deleted', async () => (await firstStored(state)) === undefined);
    assert.equal(state.snapshot.find(tokens, 'hash', 'hash of o1-1')?.row.id, 'newer');
  });

  it('keeps its rows when the write that deletes it is rejected', async () => {
    await using store = await makeStore();
    await using state = await openState(store.engine());
    await fill(state, 5);
    const outcomes = await Promise.allSettled([
      state.write((tx) => {
        tx.delete(organizations, 'o1');
        throw new RangeError('rejected');
      }),
      state.write((tx) => tx.list(tokens, 'team', 't-o1').length),
    ]);
    assert.deepEqual(outcomes[1], { status: 'fulfilled', value: 5 });
    assert.equal(state.snapshot.all(tokens).length, 10);
  });

  // Verifies [STATE-82] [STATE-84].
  it(`hides ${OWNED_ROWS} rows at once, drops them in slices, and deletes them from the store across a restart`, async () => {
    await using store = await makeStore();
    const clock = createFakeClock();
    const gated = gatedEngine(store.engine());
    const first = await openState(gated.engine, { clock });
    await fill(first, OWNED_ROWS, 100);
    const { index } = first.snapshot;
    await first.write((tx) => tx.delete(organizations, 'o1'));
    assert.equal(first.snapshot.index, index + 1);
    assert.equal(first.snapshot.get(tokens, 'o1-99999'), undefined);
    assert.equal(first.snapshot.list(tokens, 'team', 't-o1').length, 0);
    assert.ok(first.snapshot.mayHaveOrphans, 'the rows are still in memory');
    assert.ok(first.snapshot.rowCount > OWNED_ROWS);
    await first.write((tx) => void tx.put(counters, { id: 'between', value: 1, partition: 'p' }));
    await until('the orphans are dropped', () => !first.snapshot.mayHaveOrphans, 60_000);
    const remaining = dumpState(first.snapshot);
    assert.equal(Object.keys(remaining['tokens'] ?? {}).length, 100);
    // The server stops while the job runs.
    gated.commit.close();
    await clock.run(1_500);
    await until('the job deletes keys', () => gated.commit.waiting === 1);
    gated.commit.step();
    await until('the job continues', () => gated.commit.waiting === 1);
    const closed = first[Symbol.asyncDispose]();
    gated.commit.open();
    await closed;
    await using second = await openState(store.engine(), { node: 'b' });
    assert.ok((await firstStored(second)) !== undefined, 'most keys are still in the store');
    assert.notEqual(await firstStored(second), 'o1-0');
    assert.deepEqual(dumpState(second.snapshot), remaining, 'a load leaves the orphans out');
    await until('every key is deleted', async () => (await firstStored(second)) === undefined, 60_000);
    assert.deepEqual(dumpState(second.snapshot), remaining);
  });
}

function expirySuite(makeStore: MakeStore): void {
  // Verifies [STATE-85].
  it('ends the existence of a row at its exact time, in reads and in writes [STATE-17] [STATE-21]', async () => {
    await using store = await makeStore();
    const clock = createFakeClock();
    const state = await openState(store.engine(), { clock });
    const reservation: Reservation = { name: 'n', holder: 'h', until: clock.now() + 30_000 };
    await state.write((tx) => void tx.put(reservations, reservation));
    const createIndex = state.snapshot.get(reservations, 'n')?.createIndex;
    clock.jump(29_999);
    assert.ok(state.snapshot.get(reservations, 'n') !== undefined);
    await assert.rejects(
      state.write((tx) => tx.put(reservations, { ...reservation, name: 'm' })),
      { name: 'UniqueError' },
    );
    clock.jump(1);
    assert.equal(state.snapshot.get(reservations, 'n'), undefined);
    assert.equal(state.snapshot.find(reservations, 'holder', 'h'), undefined);
    assert.deepEqual(state.snapshot.all(reservations), []);
    assert.equal(await state.write((tx) => tx.delete(reservations, 'n')), false);
    await state.write((tx) => void tx.put(reservations, { ...reservation, name: 'm', until: clock.now() + 10 }));
    assert.equal(state.snapshot.find(reservations, 'holder', 'h')?.row.name, 'm', 'its unique entry is free');
    await state.write((tx) => void tx.put(reservations, { ...reservation, holder: 'i', until: clock.now() + 10 }));
    const again = state.snapshot.get(reservations, 'n');
    assert.ok(again !== undefined && createIndex !== undefined && again.createIndex > createIndex, 'it is a new row');
    await state[Symbol.asyncDispose]();
  });

  it('hides the rows of an expired owner [STATE-85]', async () => {
    await using store = await makeStore();
    await using state = await openState(store.engine());
    await fill(state, 1);
    const now = Date.now();
    await state.write((tx) => {
      tx.put(tokens, token('gone', 't-o1', now));
      tx.put(tokens, token('stays', 't-o1', now + 1_000_000));
    });
    assert.equal(state.snapshot.get(tokens, 'gone'), undefined);
    assert.ok(state.snapshot.get(tokens, 'stays') !== undefined);
  });

  it('lets a job delete each row once, with its audit entry in the same commit [STATE-86]', async () => {
    await using store = await makeStore();
    const clock = createFakeClock();
    const gated = gatedEngine(store.engine());
    const state = await openState(gated.engine, { clock });
    await state.write((tx) => {
      for (let i = 0; i < 120; i++) {
        tx.put(reservations, { name: `n${i}`, holder: `h${i}`, until: clock.now() + (i < 110 ? 1_000 : NEVER_MS) });
      }
    });
    const expired: string[] = [];
    state.addJob(
      expiryJob(state, reservations, clock, (tx, { row }) =>
        tx.append(events, { id: `${tx.index}-${row.name}`, text: row.name }),
      ),
    );
    await clock.run(999);
    assert.equal(state.snapshot.rowCount, 120);
    await until('all expired rows are deleted', async () => {
      await clock.run(2_000);
      return state.snapshot.rowCount === 10;
    });
    const logged = await state.scan(events, { limit: 500 }, testTimeout());
    for (const { row } of logged) expired.push(row.text);
    assert.deepEqual(expired.toSorted(), Array.from({ length: 110 }, (_, i) => `n${i}`).toSorted());
    const commits = gated.commits.filter(({ operations }) => operations.some(({ table }) => table === 'events'));
    for (const { operations } of commits) {
      assert.equal(operations.filter(({ table }) => table === 'events').length, operations.length / 2);
    }
    await state[Symbol.asyncDispose]();
  });

  it('deletes fewer rows at once when the store accepts only small commits [STATE-86]', async () => {
    await using store = await makeStore();
    const clock = createFakeClock();
    const gated = gatedEngine(store.engine(), { operationsMax: 13 });
    const state = await openState(gated.engine, { clock });
    for (let i = 0; i < 60; i += 12) {
      await state.write((tx) => {
        for (let j = i; j < i + 12; j++) tx.put(reservations, { name: `n${j}`, holder: `h${j}`, until: clock.now() });
      });
    }
    state.addJob(expiryJob(state, reservations, clock, (tx, { row }) => tx.append(events, { id: row.name, text: '' })));
    await until('all rows are deleted', async () => {
      await clock.run(1_000);
      return state.snapshot.rowCount === 0;
    });
    await state[Symbol.asyncDispose]();
  });
}
