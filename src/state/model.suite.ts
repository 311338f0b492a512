/**
 * Random histories against a plain model, on any engine: what readers see, what waiting reports and wakes, what the
 * change feed tells, and that a state that is loaded again holds what the live one held.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createFakeClock, type FakeClock } from '../../test/support/fake-clock.ts';
import { patience } from '../../test/support/state/engine-node.ts';
import { gatedEngine } from '../../test/support/state/gated-engine.ts';
import { openState, picture } from '../../test/support/state/state.ts';
import {
  createModel,
  type ModelWrite,
  memoryTables,
  type StateModel,
  type Wish,
} from '../../test/support/state/state-model.ts';
import type { MakeStore } from '../../test/support/state/store.ts';
import { deepFreeze, events } from '../../test/support/state/tables.ts';
import { nextTurn } from './clock/next-turn.ts';
import { isStateError } from './errors.ts';
import type { Snapshot } from './memory/snapshot.ts';
import type { State, Watched } from './state.ts';
import type { AnyTable, NamedIndex, Stored } from './table.ts';
import type { Transaction } from './write/transaction.ts';

/** Far more turns of the event loop than anything takes. */
const TURNS_MAX = 10_000_000;

type Step =
  | {
      readonly kind: 'batch';
      readonly writes: readonly { readonly wishes: readonly Wish[]; readonly throws: boolean }[];
    }
  /** Time passes; the jobs do not notice yet. */
  | { readonly kind: 'jump'; readonly ms: number }
  /** The jobs run: keys of orphans are deleted. */
  | { readonly kind: 'jobs' }
  /** Continuity is lost. */
  | { readonly kind: 'reload' };

const wish: fc.Arbitrary<Wish> = fc.record({
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
      writes: fc.array(fc.record({ wishes: fc.array(wish, { maxLength: 6 }), throws: fc.nat(3).map((n) => n === 0) }), {
        minLength: 1,
        maxLength: 4,
      }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('jump' as const), ms: fc.integer({ min: 1, max: 40 }) }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'jobs' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'reload' as const }) },
);

/** Runs `runs` random histories on stores of their own. */
export function modelContract(name: string, makeStore: MakeStore, runs: number): void {
  describe(`state on ${name}, against a model`, { timeout: 3_000_000 }, () => {
    it('reads, waits, feeds and loads as the model says, whatever happens', async () => {
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
    const watch = watchEverything(state, model, clock);
    const feed = followFeed(state);
    const seen = new Set<string>();
    for (const each of steps) {
      watch.before();
      await take(each, { state, model, clock, gated });
      await turnsUntil(() => state.loaded && !state.snapshot.ownersInDoubt);
      compareReads(state, model, clock.now(), seen);
      await watch.after();
    }
    await runJobs(state, clock, 5_000);
    await turnsUntil(() => !state.snapshot.ownersInDoubt);
    await feed.compare();
    const live = picture(state.snapshot);
    gated.break('the test says so');
    await turnsUntil(() => state.loaded);
    assert.deepEqual(picture(state.snapshot), live, 'what is loaded is not what was live');
    for (const table of memoryTables) {
      const { length } = await state.scan(table, { limit: 1_000 }, patience());
      assert.equal(length, state.snapshot.trees.get(table)?.rows.size, `the store keeps orphans of ${table.name}`);
    }
    const stored = await state.scan(events, { limit: 1_000 }, patience());
    assert.deepEqual(new Map(stored.map(({ row }) => [row.id, row.text])), new Map(model.events));
  } finally {
    await state[Symbol.asyncDispose]();
  }
}

/** Lets the event loop turn until `condition` holds; quicker than to wait for times. */
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
      model.follow(state.snapshot.index);
      return;
    case 'reload':
      gated.break('the test says so');
      await turnsUntil(() => state.loaded);
      return;
  }
}

/** Gives the jobs time, and waits for the commit of what they began: it goes on without the clock. */
async function runJobs(state: State, clock: FakeClock, ms: number): Promise<void> {
  await clock.run(ms);
  await state.write(() => undefined);
}

/** Submits all writes in one turn, so that they become one batch, and compares every outcome. */
async function takeBatch(state: State, writes: readonly ModelWrite[]): Promise<void> {
  const outcomes = await Promise.allSettled(
    writes.map(({ operations, results }) =>
      state.write((tx) => {
        const given = operations.map((operation) => run(tx, operation));
        if (results === undefined) throw new RangeError('refused by the model as well');
        return given;
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
      return tx.expire(operation.table, operation.limit).map(({ row }) => operation.table.key(row));
    case 'append':
      tx.append(events, operation.row);
      return undefined;
  }
}

/** Every read that there is, against the rows that live in the model; `seen` remembers entries that once had rows. */
function compareReads({ snapshot }: State, model: StateModel, now: number, seen: Set<string>): void {
  for (const table of memoryTables) {
    const living = model.living(table, now);
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

/** A topic's content as readers see it, and what was reported of it. */
interface Topic {
  readonly watched: () => Watched;
  readonly content: () => unknown;
  reported: number;
  told: number;
}

/** For every row and entry ever seen: the index is never too low and never falls, and a change wakes. */
function watchEverything(state: State, model: StateModel, clock: FakeClock): Watching {
  const topics = new Map<string, Topic>();
  let begun: { now: number; contents: Map<string, string>; woken: Set<string>; index: number } | undefined;

  const note = (name: string, watched: Topic['watched'], content: Topic['content']): void => {
    if (!topics.has(name)) topics.set(name, { watched, content, reported: 0, told: 0 });
  };
  const noteAll = (): void => {
    for (const table of memoryTables) {
      for (const { row } of model.living(table, clock.now())) {
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
        const { index: reported, reported: told } = topic.watched();
        assert.ok(reported <= told && told <= index, `${name} reports ${reported} and ${told}, at ${index}`);
        assert.ok(reported >= topic.reported, `${name} fell from ${topic.reported} to ${reported}`);
        assert.ok(told >= topic.told, `what is told of ${name} fell from ${topic.told} to ${told}`);
        topic.reported = reported;
        topic.told = told;
        // Rows that go by time alone go unnoticed until a job removes them.
        const changed = begun?.now === clock.now() && begun.contents.get(name) !== after.get(name);
        if (!changed || begun === undefined || begun.index === index) continue;
        assert.ok(reported > begun.index, `${name} changed at ${index} and reports ${reported}`);
        assert.ok(begun.woken.has(name), `${name} changed and nobody was woken`);
      }
    },
  };
}

/** A consumer that starts from a snapshot and again whenever it is cut off. */
function followFeed(state: State): { compare(): Promise<void> } {
  const stop = new AbortController();
  let rows = new Map<string, unknown>();
  const followOnce = async (): Promise<void> => {
    const changes = state.changes(stop.signal);
    const { snapshot } = state;
    rows = standing(snapshot);
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
      assert.deepEqual(rows, standing(state.snapshot));
    },
  };
}

/** Every row in the trees. */
function standing(snapshot: Snapshot): Map<string, unknown> {
  const rows = new Map<string, unknown>();
  for (const [table, trees] of snapshot.trees)
    for (const [key, stored] of trees.rows.entries()) rows.set(`${table.name} ${key}`, stored);
  return rows;
}
