/**
 * Compares random histories with a plain model, on any engine: reads, topic indexes and waiters, the change feed, and
 * the state after a reload.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createFakeClock, type FakeClock } from '../../test/support/fake-clock.ts';
import { testTimeout } from '../../test/support/state/engine-node.ts';
import { gatedEngine } from '../../test/support/state/gated-engine.ts';
import { countByWalking, dumpState, openState } from '../../test/support/state/state.ts';
import {
  createModel,
  type ModelWrite,
  memoryTables,
  type OperationSeed,
  type StateModel,
} from '../../test/support/state/state-model.ts';
import type { MakeStore } from '../../test/support/state/store.ts';
import { deepFreeze, events } from '../../test/support/state/tables.ts';
import { nextTurn } from './clock/next-turn.ts';
import { isStateError } from './errors.ts';
import type { Snapshot } from './memory/snapshot.ts';
import type { State, Watched } from './state.ts';
import type { AnyTable, NamedIndex, Stored } from './table.ts';
import type { Transaction } from './write/transaction.ts';

/** Upper bound on event-loop turns before a test is considered stuck. */
const TURNS_MAX = 10_000_000;

type Step =
  | {
      readonly kind: 'batch';
      readonly writes: readonly { readonly seeds: readonly OperationSeed[]; readonly throws: boolean }[];
    }
  /** Time passes without running the jobs. */
  | { readonly kind: 'jump'; readonly ms: number }
  /** The jobs run and delete orphaned keys. */
  | { readonly kind: 'jobs' }
  /** The engine reports a break. */
  | { readonly kind: 'reload' };

const operationSeed: fc.Arbitrary<OperationSeed> = fc.record({
  kind: fc.constantFrom('put', 'put', 'put', 'put', 'put', 'delete', 'delete', 'expire', 'append'),
  table: fc.constantFrom(...memoryTables.map(({ name }) => name), 'teams', 'tokens', 'tokens', 'uses', 'counters'),
  which: fc.nat(9),
  owner: fc.nat(9),
  value: fc.nat(19),
  ttlMs: fc.option(fc.integer({ min: 1, max: 60 }), { nil: undefined }),
});

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('batch' as const),
      writes: fc.array(
        fc.record({ seeds: fc.array(operationSeed, { maxLength: 6 }), throws: fc.nat(3).map((n) => n === 0) }),
        {
          minLength: 1,
          maxLength: 4,
        },
      ),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('jump' as const), ms: fc.integer({ min: 1, max: 40 }) }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'jobs' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'reload' as const }) },
);

/** Runs `runs` random histories, each on its own store. */
export function modelContract(name: string, makeStore: MakeStore, runs: number): void {
  describe(`state on ${name}, against a model`, { timeout: 3_000_000 }, () => {
    // Verifies [STATE-83].
    it('reads, notifies, and loads as the model does in random histories [STATE-9] [STATE-71] [STATE-75] [STATE-114]', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 40, size: 'max' }), async (steps) => {
          await using store = await makeStore();
          await runHistory(gatedEngine(store.engine()), steps);
        }),
        { numRuns: runs, endOnFailure: false },
      );
    });
  });
}

async function runHistory(gated: ReturnType<typeof gatedEngine>, steps: readonly Step[]): Promise<void> {
  const clock = createFakeClock();
  const state = await openState(gated.engine, { clock });
  try {
    const model = createModel(state.snapshot.index);
    const watch = watchAllTopics(state, model, clock);
    const feed = followFeed(state);
    const seen = new Set<string>();
    for (const each of steps) {
      watch.before();
      await take(each, { state, model, clock, gated });
      await turnsUntil(() => state.loaded && !state.snapshot.mayHaveOrphans);
      compareReads(state, model, clock.now(), seen);
      await watch.after();
    }
    await runJobs(state, clock, 5_000);
    await turnsUntil(() => !state.snapshot.mayHaveOrphans);
    await feed.compare();
    const live = dumpState(state.snapshot);
    gated.break('requested by the test');
    await turnsUntil(() => state.loaded);
    assert.deepEqual(dumpState(state.snapshot), live, 'the loaded rows differ from the live ones');
    for (const table of memoryTables) {
      const { length } = await state.scan(table, { limit: 1_000 }, testTimeout());
      assert.equal(length, state.snapshot.tables.get(table)?.rows.size, `the store has orphaned keys of ${table.name}`);
    }
    const stored = await state.scan(events, { limit: 1_000 }, testTimeout());
    assert.deepEqual(new Map(stored.map(({ row }) => [row.id, row.text])), new Map(model.events));
  } finally {
    await state[Symbol.asyncDispose]();
  }
}

/** Waits until `condition` holds, checking in every turn of the event loop, which is faster than polling by time. */
async function turnsUntil(condition: () => boolean): Promise<void> {
  for (let turn = 0; !condition(); turn++) {
    if (turn === TURNS_MAX) throw new Error(`not within ${TURNS_MAX} turns: ${condition}`);
    await nextTurn();
  }
}

interface Running {
  readonly state: State;
  readonly model: StateModel;
  readonly clock: FakeClock;
  readonly gated: ReturnType<typeof gatedEngine>;
}

async function take(each: Step, { state, model, clock, gated }: Running): Promise<void> {
  switch (each.kind) {
    case 'batch':
      await takeBatch(state, model.batch(each.writes, clock.now()));
      assert.equal(state.snapshot.index, model.index);
      return;
    case 'jump':
      clock.jump(each.ms);
      return;
    case 'jobs':
      await runJobs(state, clock, 2_500);
      model.setIndex(state.snapshot.index);
      return;
    case 'reload':
      gated.break('requested by the test');
      await turnsUntil(() => state.loaded);
      return;
  }
}

/** Advances the clock for the jobs, and waits for their commits, which do not depend on the clock. */
async function runJobs(state: State, clock: FakeClock, ms: number): Promise<void> {
  await clock.run(ms);
  await state.write(() => undefined);
}

/** Submits all writes in one turn, so that they become one batch, and compares every outcome. */
async function takeBatch(state: State, writes: readonly ModelWrite[]): Promise<void> {
  const outcomes = await Promise.allSettled(
    writes.map(({ operations, results }) =>
      state.write((tx) => {
        const values = operations.map((operation) => run(tx, operation));
        if (results === undefined) throw new RangeError('rejected by the model as well');
        return values;
      }),
    ),
  );
  const values = outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : undefined));
  assert.deepEqual(
    values,
    writes.map(({ results }) => results),
  );
}

function run(tx: Transaction, operation: ModelWrite['operations'][number]): unknown {
  switch (operation.kind) {
    case 'put':
      return tx.put(operation.table, deepFreeze(operation.row)).createIndex;
    case 'delete':
      return tx.delete(operation.table, operation.key);
    case 'expire':
      return tx.deleteExpired(operation.table, operation.limit).map(({ row }) => operation.table.key(row));
    case 'append':
      tx.append(events, operation.row);
      return undefined;
  }
}

/** Compares every kind of read with the model's existing rows. `seen` collects the entries that ever had rows. */
function compareReads({ snapshot }: State, model: StateModel, now: number, seen: Set<string>): void {
  compareCounts(snapshot);
  for (const table of memoryTables) {
    const living = model.existingRows(table, now);
    assert.deepEqual(snapshot.all(table), living);
    for (const stored of living) assert.deepEqual(snapshot.get(table, table.key(stored.row as object)), stored);
    for (const index of table.indexList) {
      const entries = Map.groupBy(living, ({ row }) => index.entry(row));
      for (const entry of entries.keys()) seen.add(JSON.stringify([table.name, index.name, entry]));
      for (const each of seen) {
        const [tableName, indexName, entry] = JSON.parse(each) as [string, string, string | null];
        if (tableName !== table.name || indexName !== index.name || entry === null) continue;
        compareEntry(snapshot, table, index, entry, entries.get(entry) ?? []);
      }
    }
  }
}

/** Compares the counts of rows, which commits keep up to date, with a count of the rows in memory. */
function compareCounts(snapshot: Snapshot): void {
  const dump = dumpState(snapshot);
  const counted = countByWalking(snapshot);
  assert.deepEqual(Object.fromEntries(Object.keys(counted).map((name) => [name, dump[name]])), counted);
}

function compareEntry(
  snapshot: Snapshot,
  table: AnyTable,
  { name, unique }: NamedIndex<unknown>,
  entry: string,
  rows: readonly Stored<unknown>[],
): void {
  const [first] = rows;
  if (unique) {
    assert.deepEqual(snapshot.find(table, name, entry), first);
    return;
  }
  assert.deepEqual(snapshot.list(table, name, entry), rows);
  if (first === undefined) return;
  const page = { after: table.key(first.row as object), limit: 2 };
  assert.deepEqual(snapshot.list(table, name, entry, page), rows.slice(1, 3));
}

interface Watching {
  before(): void;
  after(): Promise<void>;
}

/** The content of a topic as readers see it, and the highest indexes so far. */
interface WatchedTopic {
  readonly watched: () => Watched;
  readonly content: () => unknown;
  index: number;
  reportedIndex: number;
}

/** Checks for every row and entry ever seen that its index is never too low and never falls, and a change wakes. */
function watchAllTopics(state: State, model: StateModel, clock: FakeClock): Watching {
  const topics = new Map<string, WatchedTopic>();
  let begun: { now: number; contents: Map<string, string>; woken: Set<string>; index: number } | undefined;

  const note = (name: string, watched: WatchedTopic['watched'], content: WatchedTopic['content']): void => {
    if (!topics.has(name)) topics.set(name, { watched, content, index: 0, reportedIndex: 0 });
  };
  const noteAll = (): void => {
    for (const table of memoryTables) {
      for (const { row } of model.existingRows(table, clock.now())) {
        const key = table.key(row as object);
        note(
          `${table.name} ${key}`,
          () => state.watchRow(table, key),
          () => state.snapshot.get(table, key),
        );
        for (const { name, watched, entry } of table.indexList) {
          const under = watched ? entry(row as object) : undefined;
          if (under === undefined) continue;
          note(
            `${table.name} ${name} ${under}`,
            () => state.watchEntry(table, name, under),
            () => state.snapshot.list(table, name, under),
          );
        }
      }
    }
  };
  const contents = (): Map<string, string> =>
    new Map([...topics].map(([name, { content }]) => [name, JSON.stringify(content() ?? null)]));

  return {
    before() {
      noteAll();
      const woken = new Set<string>();
      for (const [name, { watched }] of topics) state.wait([watched().topic], () => woken.add(name));
      begun = { now: clock.now(), contents: contents(), woken, index: state.snapshot.index };
    },
    async after() {
      for (let turn = 0; turn < 10; turn++) await nextTurn();
      const after = contents();
      const index = state.snapshot.index;
      for (const [name, topic] of topics) {
        const watched = topic.watched();
        assert.ok(watched.index <= watched.reportedIndex, `${name}: ${watched.index} exceeds ${watched.reportedIndex}`);
        assert.ok(watched.reportedIndex <= index, `${name}: ${watched.reportedIndex} exceeds ${index}`);
        assert.ok(watched.index >= topic.index, `${name} fell from ${topic.index} to ${watched.index}`);
        assert.ok(
          watched.reportedIndex >= topic.reportedIndex,
          `the reported index of ${name} fell from ${topic.reportedIndex} to ${watched.reportedIndex}`,
        );
        topic.index = watched.index;
        topic.reportedIndex = watched.reportedIndex;
        // The expiry of a row wakes no waiter until a job deletes the row.
        const changed = begun?.now === clock.now() && begun.contents.get(name) !== after.get(name);
        if (!changed || begun === undefined || begun.index === index) continue;
        assert.ok(watched.index > begun.index, `${name} changed at ${index} and reports ${watched.index}`);
        assert.ok(begun.woken.has(name), `${name} changed and its waiter was not woken`);
      }
    },
  };
}

/** A consumer that starts from a snapshot, and restarts whenever it is disconnected. */
function followFeed(state: State): { compare(): Promise<void> } {
  const stop = new AbortController();
  let rows = new Map<string, unknown>();
  const followOnce = async (): Promise<void> => {
    const changes = state.changes(stop.signal);
    const { snapshot } = state;
    rows = storedRows(snapshot);
    for await (const change of changes) {
      if (change.index < snapshot.index) continue;
      for (const { table, key, after } of change.changes) {
        if (after === undefined) rows.delete(`${table.name} ${key}`);
        else rows.set(`${table.name} ${key}`, after);
      }
    }
  };
  const following = (async () => {
    while (!stop.signal.aborted) {
      await followOnce().catch((error) => assert.ok(isStateError(error, 'fell-behind'), String(error)));
    }
  })();
  return {
    async compare() {
      for (let turn = 0; turn < 10; turn++) await nextTurn();
      stop.abort();
      await following;
      assert.deepEqual(rows, storedRows(state.snapshot));
    },
  };
}

/** Returns every row in memory, expired ones included. */
function storedRows(snapshot: Snapshot): Map<string, unknown> {
  const rows = new Map<string, unknown>();
  for (const [table, indexes] of snapshot.tables)
    for (const [key, stored] of indexes.rows.entries()) rows.set(`${table.name} ${key}`, stored);
  return rows;
}
