/** Tests of row quotas, the reserve, and byte rates, on any engine. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createFakeClock } from '../../../test/support/fake-clock.ts';
import { countByWalking, dumpState, openState } from '../../../test/support/state/state.ts';
import type { MakeStore } from '../../../test/support/state/store.ts';
import { counters, events, organizations, reservations, teams, tokens } from '../../../test/support/state/tables.ts';
import { until } from '../../../test/support/until.ts';
import { createRate } from '../../budget/rate.ts';
import type { StoreSpace } from '../engine/engine.ts';
import { isStateError } from '../errors.ts';
import { OPERATION_BYTES, SPACE_CHECK_MS } from '../limits.ts';
import type { State } from '../state.ts';
import type { RowQuota, WriteCaller } from './admission.ts';
import type { Transaction } from './transaction.ts';

const USER: WriteCaller = { rateKey: 'user/a', isOperator: false };
const OPERATOR: WriteCaller = { rateKey: 'user/o', isOperator: true };

const quotaOf = (rowsMax: number): RowQuota => ({
  table: organizations,
  rowsMax,
  kind: 'organization',
  setting: 'limits.rows-per-organization',
  nameOf: (row) => (row as { readonly name: string }).name,
  isExempt: (row) => (row as { readonly name: string }).name === 'exempt',
});

/** Puts an organization with a team, unless they exist, and `count` tokens of the team. */
const addTokens = (tx: Transaction, name: string, count: number, from = 0): void => {
  if (tx.get(organizations, name) === undefined) {
    tx.put(organizations, { id: name, name });
    tx.put(teams, { id: `team-${name}`, organization: name, name });
  }
  for (let i = from; i < from + count; i++) {
    tx.put(tokens, { id: `${name}-${i}`, team: `team-${name}`, hash: `${name}-${i}` });
  }
};

const rowsOf = (state: State, id: string): number => state.snapshot.rowCounts.get(organizations, id);

const rowsByWalking = (state: State, id: string): number | undefined =>
  countByWalking(state.snapshot)[`counts ${organizations.name}`]?.[id];

/** @param isShared whether two states can use one store */
export function admissionSuite(name: string, makeStore: MakeStore, runs: number, isShared: boolean): void {
  describe(`limits of writes on ${name}`, { timeout: 120_000 }, () => {
    it('refuses only additions of the holder at its quota, and changes nothing [STATE-116]', async () => {
      await using store = await makeStore();
      await using state = await openState(store.engine(), { quotas: [quotaOf(4)] });
      const add = (holder: string, count: number, from: number, caller?: WriteCaller): Promise<void> =>
        state.write((tx) => addTokens(tx, holder, count, from), caller && { caller });
      await add('acme', 3, 0, USER);
      const before = dumpState(state.snapshot);
      const refused = add('acme', 1, 3, USER);
      await assert.rejects(refused, {
        code: 'quota',
        message:
          'organization "acme" would have 5 rows, and limits.rows-per-organization is 4: remove rows, or ask an operator to raise the limit',
      });
      assert.deepEqual(dumpState(state.snapshot), before);
      const dryRun = state.write((tx) => addTokens(tx, 'acme', 1, 3), { caller: USER, dryRun: true });
      await assert.rejects(dryRun, { code: 'quota' });
      await add('beta', 3, 0, USER);
      await add('exempt', 9, 0, USER);
      await add('acme', 1, 4, OPERATOR);
      await add('acme', 1, 5);
      assert.deepEqual([rowsOf(state, 'acme'), rowsOf(state, 'beta'), rowsOf(state, 'exempt')], [6, 4, 10]);
      // Above its quota, a holder can still change, exchange and remove rows.
      const caller = USER;
      await state.write((tx) => tx.put(tokens, { id: 'acme-0', team: 'team-acme', hash: 'changed' }), { caller });
      await state.write(
        (tx) => {
          tx.delete(tokens, 'acme-1');
          addTokens(tx, 'acme', 1, 6);
        },
        { caller },
      );
      await state.write((tx) => tx.delete(tokens, 'acme-2'), { caller });
      assert.equal(rowsOf(state, 'acme'), 5);
      assert.deepEqual(
        state.admission.measure().map(({ bound, used, max }) => [bound, used, max]),
        [
          ['total', state.snapshot.rowCount, 1_000_000],
          ['organization', 5, 4],
        ],
      );
      assert.deepEqual([...state.admission.crowdedHolders(1)].map((holder) => holder.name).toSorted(), [
        'acme',
        'beta',
      ]);
      assert.deepEqual(Object.fromEntries(state.admission.refused), { total: 0, store: 0, organization: 2 });
    });

    it('counts a row once for each started 2 KiB, so that it cannot grow past a quota [STATE-114]', async () => {
      await using store = await makeStore();
      const settings = { quotas: [quotaOf(6)] };
      const put = (state: State, kibibytes: number): Promise<unknown> =>
        state.write((tx) => tx.put(tokens, { id: 'large', team: 'team-acme', hash: 'x'.repeat(kibibytes * 1_024) }), {
          caller: USER,
        });
      {
        await using state = await openState(store.engine(), settings);
        await state.write((tx) => addTokens(tx, 'acme', 1));
        await put(state, 1);
        assert.equal(rowsOf(state, 'acme'), 3);
        await put(state, 5);
        assert.equal(rowsOf(state, 'acme'), rowsByWalking(state, 'acme'));
        await assert.rejects(put(state, 50), { code: 'quota' });
        assert.equal(rowsOf(state, 'acme'), rowsByWalking(state, 'acme'));
      }
      await using state = await openState(store.engine(), settings);
      const loaded = rowsOf(state, 'acme');
      assert.ok(loaded > 3, `${loaded}`);
      assert.equal(loaded, rowsByWalking(state, 'acme'));
      await put(state, 1);
      assert.equal(rowsOf(state, 'acme'), 3);
    });

    it('opens above a quota, and then refuses only additions [STATE-116]', async () => {
      await using store = await makeStore();
      {
        await using state = await openState(store.engine());
        await state.write((tx) => addTokens(tx, 'acme', 5));
      }
      await using state = await openState(store.engine(), { quotas: [quotaOf(4)] });
      assert.equal(rowsOf(state, 'acme'), 6);
      const caller = USER;
      await assert.rejects(
        state.write((tx) => addTokens(tx, 'acme', 1, 5), { caller }),
        { code: 'quota' },
      );
      await state.write((tx) => tx.put(tokens, { id: 'acme-0', team: 'team-acme', hash: 'changed' }), { caller });
      await state.write((tx) => tx.delete(tokens, 'acme-1'), { caller });
      await state.write((tx) => addTokens(tx, 'beta', 1), { caller });
      assert.equal(rowsOf(state, 'acme'), 5);
    });

    it('counts the writes of one batch one after another [STATE-116]', async () => {
      await using store = await makeStore();
      await using state = await openState(store.engine(), { quotas: [quotaOf(3)] });
      await state.write((tx) => addTokens(tx, 'acme', 0));
      const outcomes = await Promise.allSettled(
        [0, 1, 2, 3].map((i) => state.write((tx) => addTokens(tx, 'acme', 1, i), { caller: USER })),
      );
      assert.deepEqual(
        outcomes.map(({ status }) => status),
        ['fulfilled', 'fulfilled', 'rejected', 'rejected'],
      );
      assert.equal(rowsOf(state, 'acme'), 3);
    });

    it('moves a whole subtree to another holder, which needs room for it [STATE-114] [STATE-116]', async () => {
      await using store = await makeStore();
      await using state = await openState(store.engine(), { quotas: [quotaOf(5)] });
      await state.write((tx) => {
        addTokens(tx, 'acme', 2);
        addTokens(tx, 'beta', 3);
      });
      const move = (to: string): Promise<unknown> =>
        state.write((tx) => tx.put(teams, { id: 'team-acme', organization: to, name: 'moved' }), { caller: USER });
      await assert.rejects(move('beta'), { code: 'quota' });
      await state.write((tx) => tx.put(organizations, { id: 'gamma', name: 'gamma' }));
      await move('gamma');
      assert.deepEqual([rowsOf(state, 'acme'), rowsOf(state, 'beta'), rowsOf(state, 'gamma')], [0, 4, 3]);
      await state.write((tx) => tx.delete(teams, 'team-acme'), { caller: USER });
      assert.equal(rowsOf(state, 'gamma'), 0);
    });

    it('keeps counts of a holder that is removed and created again under its key [STATE-114]', async () => {
      await using store = await makeStore();
      await using state = await openState(store.engine());
      const reservation = { name: 'p', holder: 'h', until: Date.now() + 3_600_000 };
      await state.write((tx) => {
        tx.put(reservations, reservation);
        tx.put(counters, { id: 'c', value: 0, partition: 'p' });
      });
      await state.write((tx) => tx.delete(reservations, 'p'));
      await state.write((tx) => tx.put(counters, { id: 'd', value: 3, partition: 'p' }));
      await state.write((tx) => tx.put(reservations, reservation));
      assert.equal(state.snapshot.rowCounts.get(reservations, 'p'), 2);
    });

    it('keeps the reserve for operators and the server, and always takes removals [STATE-115]', async () => {
      await using store = await makeStore();
      await using state = await openState(store.engine(), { rowsMax: 100 });
      const put = (id: string, caller?: WriteCaller): Promise<unknown> =>
        state.write((tx) => tx.put(counters, { id, value: 2, partition: 'p' }), caller && { caller });
      for (let i = 0; i < 98; i++) await put(`c${i}`, USER);
      await assert.rejects(put('more', USER), {
        code: 'rows-max',
        message:
          'the state holds 98 rows, state.rows-max is 100: remove rows or raise it; the last 2 rows are for operators',
      });
      await put('o', OPERATOR);
      await put('s');
      await assert.rejects(put('o2', OPERATOR), { code: 'rows-max' });
      // The removal shares its batch with a write that fills the state beyond its limit.
      await Promise.all([
        state.write((tx) => tx.put(counters, { id: 'beyond', value: 2, partition: 'p' }), { beyondRowsMax: true }),
        state.write((tx) => tx.delete(counters, 'c0'), { caller: USER }),
        put('c1', USER),
      ]);
      assert.equal(state.admission.refused.get('total'), 2);
    });

    it('keeps room in the store for operators, and then for removals [STATE-119]', async () => {
      await using store = await makeStore();
      const roomOf = (freeBytes: number): StoreSpace => ({
        freeBytes,
        reserveBytes: 100,
        removalBytes: 50,
        reason: 'the store has used 9 of 10 MiB',
      });
      let space = roomOf(1_000);
      await using state = await openState({ ...store.engine(), space: () => Promise.resolve(space) });
      const put = (id: string, caller?: WriteCaller): Promise<unknown> =>
        state.write((tx) => tx.put(counters, { id, value: 2, partition: 'p' }), caller && { caller });
      await put('a', USER);
      await put('b', USER);
      space = roomOf(99);
      state.admission.setSpace(space);
      await assert.rejects(put('c', USER), {
        code: 'full',
        message: 'the store has used 9 of 10 MiB; what is left is for operators and removals',
      });
      await put('d', OPERATOR);
      space = roomOf(49);
      state.admission.setSpace(space);
      await assert.rejects(put('e', OPERATOR), { code: 'full', message: /; what is left is for removals$/ });
      await put('s');
      await state.write((tx) => tx.delete(counters, 'a'), { caller: USER });
      const moved = { caller: USER, isRemoval: true };
      await state.write((tx) => tx.put(counters, { id: 'tombstone', value: 2, partition: 'p' }), moved);
      assert.equal(state.admission.refused.get('store'), 2);
    });

    it('looks at the room again when the store did not tell it before [STATE-119]', async () => {
      await using store = await makeStore();
      const clock = createFakeClock();
      let space: StoreSpace | undefined;
      const engine = { ...store.engine(), space: () => Promise.resolve(space) };
      await using state = await openState(engine, { clock });
      assert.equal(state.admission.space, undefined);
      space = { freeBytes: 99, reserveBytes: 100, removalBytes: 50, reason: 'the store is nearly full' };
      await clock.run(2 * SPACE_CHECK_MS);
      assert.equal(state.admission.space, space);
      const write = state.write((tx) => tx.put(counters, { id: 'a', value: 2, partition: 'p' }), { caller: USER });
      await assert.rejects(write, { code: 'full' });
    });

    it('charges each caller for the bytes of its committed writes only [STATE-117]', async () => {
      await using store = await makeStore();
      const clock = createFakeClock();
      const limits = { perSecond: 1_000, burst: 10_000 };
      const writeRate = createRate({ name: 'write-bytes', bound: 'caller', limits, clock });
      await using state = await openState(store.engine(), { writeRate });
      const append = (id: string, caller: WriteCaller | undefined, options = {}): Promise<void> =>
        state.write((tx) => tx.append(events, { id, text: 'x'.repeat(5_000) }), {
          ...(caller && { caller }),
          ...options,
        });
      for (const i of [1, 2, 3, 4]) await append(`dry ${i}`, USER, { dryRun: true });
      await append('a', USER);
      const { index } = state.snapshot;
      await assert.rejects(
        append('b', USER),
        (error: unknown) => isStateError(error, 'rate-limited') && error.retryAfterSeconds === 1,
      );
      assert.equal(state.snapshot.index, index);
      await append('c', { rateKey: 'user/b', isOperator: false });
      for (const i of [1, 2, 3]) await append(`o${i}`, OPERATOR);
      await append('s', undefined);
      clock.advance(1_000 + OPERATION_BYTES);
      await append('b', USER);
    });

    it('counts as a walk over all rows does, after random writes, refusals and restarts [STATE-114]', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(anAction, { maxLength: 30 }), async (actions) => {
          await using store = await makeStore();
          const settings = { quotas: [quotaOf(12)] };
          let state = await openState(store.engine(), settings);
          for (const action of actions) {
            if (action.kind === 'restart') {
              await state[Symbol.asyncDispose]();
              state = await openState(store.engine(), settings);
            }
            await take(state, action);
            compareCounts(state);
          }
          await state[Symbol.asyncDispose]();
        }),
        { numRuns: runs },
      );
    });

    if (!isShared) return;
    it('counts on a follower as on the server that makes the writes [STATE-114]', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(anAction, { minLength: 10, maxLength: 40 }), async (actions) => {
          await using store = await makeStore();
          await using state = await openState(store.engine(), { quotas: [quotaOf(12)] });
          await using follower = await openState(store.engine(), { node: 'b' });
          for (const action of actions) await take(state, action);
          await follower.consistent();
          await until('no orphans are left', () => !follower.snapshot.mayHaveOrphans && !state.snapshot.mayHaveOrphans);
          compareCounts(follower);
          const [own, followed] = [state, follower].map(({ snapshot }) => dumpState(snapshot)['counts organizations']);
          assert.deepEqual(followed, own);
        }),
        { numRuns: Math.ceil(runs / 4) },
      );
    });
  });
}

const anAction = fc.record({
  kind: fc.constantFrom('add', 'add', 'add', 'remove', 'removeTeam', 'removeAll', 'move', 'restart'),
  holder: fc.constantFrom('a', 'b', 'c'),
  other: fc.constantFrom('a', 'b', 'c'),
  from: fc.integer({ min: 0, max: 10 }),
  count: fc.integer({ min: 0, max: 6 }),
  throws: fc.boolean(),
});
type Action = typeof anAction extends fc.Arbitrary<infer T> ? T : never;

const CHANGES: Readonly<Record<string, (tx: Transaction, action: Action) => void>> = {
  add: (tx, { holder, count, from }) => addTokens(tx, holder, count, from),
  remove: (tx, { holder, from }) => void tx.delete(tokens, `${holder}-${from}`),
  removeTeam: (tx, { holder }) => void tx.delete(teams, `team-${holder}`),
  removeAll: (tx, { holder }) => void tx.delete(organizations, holder),
  move(tx, { holder, other }) {
    if (tx.get(teams, `team-${holder}`) === undefined || tx.get(organizations, other) === undefined) return;
    tx.put(teams, { id: `team-${holder}`, organization: other, name: holder });
  },
};

/** Makes the change of an action twice in one batch. The second write throws if the action says so. */
async function take(state: State, action: Action): Promise<void> {
  const writes = [false, action.throws].map((throws) =>
    state.write(
      (tx) => {
        CHANGES[action.kind]?.(tx, action);
        if (throws) throw new RangeError('refused');
      },
      { caller: USER },
    ),
  );
  await Promise.allSettled(writes);
}

function compareCounts({ snapshot }: State): void {
  const dump = dumpState(snapshot);
  for (const [table, counted] of Object.entries(countByWalking(snapshot))) assert.deepEqual(dump[table], counted);
}
