/** What the state promises of rows that go without being deleted: with their owner, or by their expiry. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { patience } from '../../../test/support/state/engine-node.ts';
import { gatedEngine } from '../../../test/support/state/gated-engine.ts';
import { openState, picture } from '../../../test/support/state/state.ts';
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

/** How many rows the real-engine test puts under one owner. */
const OWNED_ROWS = 100_000;
/** Further away than any test runs its clock while it waits for a slow store. */
const NEVER_MS = 1_000_000_000;
/** Rows a write, below what etcd takes in one transaction. */
const WRITE_ROWS = 120;

/** Runs the promises about owners and expiry over a store. */
export function removalContract(name: string, makeStore: MakeStore): void {
  describe(`removal on ${name}`, { timeout: 150_000 }, () => {
    describe('owner', () => ownerSuite(makeStore));
    describe('expiry', () => expirySuite(makeStore));
  });
}

const token = (id: string, team: string, expiresAt?: number): Token =>
  expiresAt === undefined ? { id, team, hash: `hash of ${id}` } : { id, team, hash: `hash of ${id}`, expiresAt };

/** Two organizations with a team each, and tokens in each team: `first` and `second` of them. */
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

/** The first token of organization `o1` that the store holds; they are deleted from the first on. */
async function firstStored(state: State): Promise<string | undefined> {
  const [first] = await state.scan(tokens, { from: 'o1-', to: 'o1.', limit: 1 }, patience());
  return first?.row.id;
}

function ownerSuite(makeStore: MakeStore): void {
  it('takes everything under it out of reach in its own commit, owners of owners as well', async () => {
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
    assert.equal(gated.commits[commits]?.operations.length, 1, 'the commit does not grow with what it removes');
    assert.equal(snapshot.get(teams, 't-o1'), undefined);
    assert.equal(snapshot.find(teams, 'name', 'o1/team'), undefined);
    assert.deepEqual(snapshot.list(teams, 'organization', 'o1'), []);
    assert.equal(snapshot.get(tokens, 'o1-7'), undefined);
    assert.equal(snapshot.find(tokens, 'hash', 'hash of o1-7'), undefined);
    assert.deepEqual(snapshot.list(tokens, 'team', 't-o1'), []);
    assert.equal(snapshot.all(tokens).length, 50);
    assert.equal(snapshot.first(tokens, 'team')?.row.team, 't-o2');
  });

  it("leaves its rows' unique entries to others at once", async () => {
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
    await until('all is drained and deleted', async () => (await firstStored(state)) === undefined);
    assert.equal(state.snapshot.find(tokens, 'hash', 'hash of o1-1')?.row.id, 'newer');
  });

  it('that a refused write removed is there as before, with everything under it', async () => {
    await using store = await makeStore();
    await using state = await openState(store.engine());
    await fill(state, 5);
    const outcomes = await Promise.allSettled([
      state.write((tx) => {
        tx.delete(organizations, 'o1');
        throw new RangeError('refused');
      }),
      state.write((tx) => tx.list(tokens, 'team', 't-o1').length),
    ]);
    assert.deepEqual(outcomes[1], { status: 'fulfilled', value: 5 });
    assert.equal(state.snapshot.all(tokens).length, 10);
  });

  it(`takes ${OWNED_ROWS} rows: gone at once, dropped in slices, their keys deleted, elsewhere after a restart`, async () => {
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
    assert.ok(first.snapshot.ownersInDoubt, 'the rows are in the trees still');
    assert.ok(first.snapshot.rowCount > OWNED_ROWS);
    await first.write((tx) => void tx.put(counters, { id: 'between', value: 1, partition: 'p' }));
    await until('the trees are drained', () => !first.snapshot.ownersInDoubt, 60_000);
    const left = picture(first.snapshot);
    assert.equal(Object.keys(left['tokens'] ?? {}).length, 100);
    // The job is somewhere in its work when this node goes.
    gated.commit.shut();
    await clock.run(1_500);
    await until('it deletes', () => gated.commit.waiting === 1);
    gated.commit.step();
    await until('it goes on', () => gated.commit.waiting === 1);
    const closed = first[Symbol.asyncDispose]();
    gated.commit.open();
    await closed;
    await using second = await openState(store.engine(), { node: 'b' });
    assert.ok((await firstStored(second)) !== undefined, 'most keys are there still');
    assert.notEqual(await firstStored(second), 'o1-0');
    assert.deepEqual(picture(second.snapshot), left, 'a node that loads finds the orphans and leaves them out');
    await until('every key is deleted', async () => (await firstStored(second)) === undefined, 60_000);
    assert.deepEqual(picture(second.snapshot), left);
  });
}

function expirySuite(makeStore: MakeStore): void {
  it('is the very moment at which a row stops to exist, for reads and for writes', async () => {
    await using store = await makeStore();
    const clock = createFakeClock();
    const state = await openState(store.engine(), { clock });
    const held: Reservation = { name: 'n', holder: 'h', until: clock.now() + 30_000 };
    await state.write((tx) => void tx.put(reservations, held));
    const createIndex = state.snapshot.get(reservations, 'n')?.createIndex;
    clock.jump(29_999);
    assert.ok(state.snapshot.get(reservations, 'n') !== undefined);
    await assert.rejects(
      state.write((tx) => tx.put(reservations, { ...held, name: 'm' })),
      { name: 'UniqueError' },
    );
    clock.jump(1);
    assert.equal(state.snapshot.get(reservations, 'n'), undefined);
    assert.equal(state.snapshot.find(reservations, 'holder', 'h'), undefined);
    assert.deepEqual(state.snapshot.all(reservations), []);
    assert.equal(await state.write((tx) => tx.delete(reservations, 'n')), false);
    await state.write((tx) => void tx.put(reservations, { ...held, name: 'm', until: clock.now() + 10 }));
    assert.equal(state.snapshot.find(reservations, 'holder', 'h')?.row.name, 'm', 'its unique entry is free');
    await state.write((tx) => void tx.put(reservations, { ...held, holder: 'i', until: clock.now() + 10 }));
    const again = state.snapshot.get(reservations, 'n');
    assert.ok(again !== undefined && createIndex !== undefined && again.createIndex > createIndex, 'it is another row');
    await state[Symbol.asyncDispose]();
  });

  it('of an owner takes its rows along', async () => {
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

  it('is made good by a job, once a row, with what belongs to it in the same commit', async () => {
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
    await until('all that are due are removed', async () => {
      await clock.run(2_000);
      return state.snapshot.rowCount === 10;
    });
    const logged = await state.scan(events, { limit: 500 }, patience());
    for (const { row } of logged) expired.push(row.text);
    assert.deepEqual(expired.toSorted(), Array.from({ length: 110 }, (_, i) => `n${i}`).toSorted());
    const commits = gated.commits.filter(({ operations }) => operations.some(({ table }) => table === 'events'));
    for (const { operations } of commits) {
      assert.equal(operations.filter(({ table }) => table === 'events').length, operations.length / 2);
    }
    await state[Symbol.asyncDispose]();
  });

  it('goes on in smaller steps where a commit takes little', async () => {
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
    await until('all are removed', async () => {
      await clock.run(1_000);
      return state.snapshot.rowCount === 0;
    });
    await state[Symbol.asyncDispose]();
  });
}
