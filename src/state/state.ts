/**
 * The state: a cache in front of a store. Rows live in the store, every node keeps them all in memory, every change is
 * one guarded commit at an index.
 *
 * Promises: acknowledged writes are strictly serializable and never lost; default reads are linearizable; `stale` reads
 * are bounded by the store's last contact; status rows are eventually consistent.
 *
 * Refused: a query a read (slower, and waiting would be polling); an elected leader (the guard of a commit decides);
 * waking by the difference of the trees after a reload (everyone is woken instead: reloads are rare, the result is
 * shared, and an answer too many is allowed where one too few is not).
 */

import { type Clock, sleep } from './clock/clock.ts';
import type { CommittedChange, Engine, Follower, Member, ScanRange } from './engine/engine.ts';
import { isStateError, StateError } from './errors.ts';
import { removalJob } from './jobs/orphan-removal.ts';
import { type Job, Jobs } from './jobs/placement.ts';
import { StatusBoard } from './jobs/status-rows.ts';
import { decodeRow, readableFormats, writtenFormat } from './memory/codec.ts';
import { type LoadedState, Memory } from './memory/committed-state.ts';
import { loadState } from './memory/loader.ts';
import type { Snapshot } from './memory/snapshot.ts';
import type { AnyTable, Schema, Stored, Table } from './table.ts';
import { Barrier } from './watch/barrier.ts';
import { type Change, ChangeFeed } from './watch/change-feed.ts';
import { entryTopic, rowTopic, type Topic, Waiting } from './watch/change-notifier.ts';
import type { Transaction } from './write/transaction.ts';
import { type WriteOptions, WriteQueue } from './write/write-queue.ts';

/** What is waited for, with the index of its last change (or one after it). */
export interface Watched {
  readonly topic: Topic;
  readonly index: number;
  /**
   * What to tell a client to wait from. A row that is there has its own index on every server. Of anything else servers
   * remember a last change or, when they were started later, a later index: the index of the picture is above both, so
   * that a client which goes from one server to another never sees it fall.
   */
  readonly reported: number;
}

export interface StateOptions {
  readonly engine: Engine;
  readonly schema: Schema;
  /** This node's name, one for each server of a cluster. */
  readonly node: string;
  readonly clock: Clock;
  /** Rows in memory above which writes that add some are refused. */
  readonly rowsMax: number;
  /** What sets it, and what to do, as whoever is refused reads it; the setting unless given. */
  readonly rowsMaxReason?: string;
  readonly log: (level: 'info' | 'warn' | 'error', message: string, fields?: Record<string, unknown>) => void;
}

/** Pause between attempts to load from a store that does not answer. */
const RELOAD_MS = 500;

export class State implements AsyncDisposable {
  readonly #options: StateOptions;
  readonly #waiting = new Waiting();
  readonly #feed = new ChangeFeed();
  readonly #memory: Memory;
  readonly #queue: WriteQueue;
  readonly #barrier: Barrier;
  readonly #jobs: Jobs;
  readonly #closing = new AbortController();
  readonly #fatal = Promise.withResolvers<Error>();
  #members: readonly Member[] = [];
  readonly #memberListeners = new Set<(members: readonly Member[]) => void>();
  /** See `BatchBase`. */
  #format = (table: AnyTable): number => writtenFormat(table, []);
  /** Commits that came while the state is being loaded; `undefined` while it is not. */
  #early: CommittedChange[] | undefined = [];
  #brokenWhileLoading = false;
  #reloading = false;
  #loading: Promise<void> | undefined;
  #catchingUp: { readonly index: number; readonly resolve: () => void; readonly reject: (error: unknown) => void }[] =
    [];
  /** Status rows of this node and of others. */
  readonly status: StatusBoard;

  private constructor(options: StateOptions) {
    this.#options = options;
    const { engine, schema, clock } = options;
    const onChange = (): void => this.#onChange();
    this.#memory = new Memory({ schema, clock, waiting: this.#waiting, feed: this.#feed, onChange });
    const signal = this.#closing.signal;
    const onError = (job: string, error: unknown): void =>
      options.log('warn', `background job '${job}' failed`, { error });
    this.#jobs = new Jobs({ node: options.node, clock, signal, onError });
    this.status = new StatusBoard(engine);
    this.#queue = new WriteQueue({
      engine,
      memory: this.#memory,
      clock,
      signal,
      rowsMax: options.rowsMax,
      rowsMaxReason: options.rowsMaxReason ?? `state.rows-max is ${options.rowsMax}: remove rows or raise it`,
      loaded: () => this.loaded,
      caughtUp: (index) => this.#caughtUp(index),
      base: () => ({
        schema,
        index: this.snapshot.index,
        epoch: this.snapshot.epoch,
        trees: this.snapshot.trees,
        ownersInDoubt: this.snapshot.ownersInDoubt,
        rowCount: this.snapshot.rowCount,
        format: this.#format,
      }),
    });
    this.#barrier = new Barrier(async (timeOut) => {
      await this.#caughtUp(0);
      if (engine.exclusive) return;
      const head = await engine.head(AbortSignal.any([timeOut, signal]));
      await this.#caughtUp(head.index);
    }, clock);
  }

  /** A state that answers nothing yet: reads and writes wait for `start`. */
  static create(options: StateOptions): State {
    return new State(options);
  }

  /** `create` and `start` in one; closes what was opened when it fails. */
  static async open(options: StateOptions): Promise<State> {
    const state = State.create(options);
    try {
      await state.start();
    } catch (error) {
      await state[Symbol.asyncDispose]();
      throw error;
    }
    return state;
  }

  /**
   * Opens the engine; `prepare` may then fill an empty store (its signal aborts when the state is closed meanwhile);
   * loads it and follows it from there.
   * @throws StateError `unavailable` | `locked` | `corrupt` | `name-taken` | `not-empty`
   */
  start(prepare?: (engine: Engine, signal: AbortSignal) => Promise<void>): Promise<void> {
    const starting = this.#start(prepare);
    this.#loading = starting;
    return starting;
  }

  async #start(prepare: ((engine: Engine, signal: AbortSignal) => Promise<void>) | undefined): Promise<void> {
    const { engine, schema, node, clock } = this.#options;
    const identity = {
      node,
      formats: readableFormats(schema.tables),
      storeOnly: new Set(schema.tables.filter((table) => table.storeOnly).map((table) => table.name)),
    };
    await engine.open(identity, this.#follower(), this.#closing.signal);
    await prepare?.(engine, this.#closing.signal);
    await this.#load();
    this.addJob(removalJob(this, this.#memory, clock, engine.limits.operationsMax));
    const housekeep = engine.housekeep?.bind(engine);
    if (housekeep !== undefined) this.addJob({ name: 'housekeeping', run: housekeep });
  }

  /** The current picture. Take it once for everything that must fit together. */
  get snapshot(): Snapshot {
    return this.#memory.snapshot;
  }

  /** Settles with the reason when the process must end: going on could lose data. */
  get fatal(): Promise<Error> {
    return this.#fatal.promise;
  }

  /** Whether the state is loaded and follows the store; false while it is loaded again. */
  get loaded(): boolean {
    return this.#early === undefined;
  }

  /** The live nodes of the cluster, this one included while its lease lives. */
  get members(): readonly Member[] {
    return this.#members;
  }

  /** The tables, owners first. */
  get schema(): Schema {
    return this.#options.schema;
  }

  /** Rows above which writes that add some are refused. */
  get rowsMax(): number {
    return this.#options.rowsMax;
  }

  /** How many wait for changes. */
  get waiterCount(): number {
    return this.#waiting.size;
  }

  /** Milliseconds since the store last answered. */
  lastContactMs(): number {
    return this.#options.engine.lastContactMs();
  }

  /** Whether the store has left a read without its answer, and has not been heard of since. */
  get storeFailing(): boolean {
    const { failedAtMs } = this.#barrier;
    return failedAtMs !== undefined && this.#options.clock.monotonic() - this.lastContactMs() < failedAtMs;
  }

  /**
   * Runs `fn`, a synchronous function that reads and changes tables through `tx`, throws to refuse, and returns a value.
   * It may run more than once, so it has no side effects. Resolves when the commit is durable and visible here; a
   * refusal rejects with what `fn` threw, once what it was based on is durable.
   * @throws StateError `unavailable` | `outcome-unknown` | `overloaded` | `full` | `too-large` | `rows-max` | `aborted`
   */
  write<T>(fn: (tx: Transaction) => T, options: WriteOptions = {}): Promise<T> {
    if (this.#closing.signal.aborted) return Promise.reject(new StateError('aborted', 'the server is stopping'));
    return this.#queue.write(fn, options);
  }

  /**
   * Makes the next synchronous read see everything that was committed before this call; `undefined` when it does already.
   * @throws StateError `unavailable` when the store has not answered within BARRIER_MS
   */
  consistent(): Promise<void> | undefined {
    return this.#options.engine.exclusive && this.loaded ? undefined : this.#barrier.join();
  }

  /** A row, there or not, as something to wait for; its index counts the row's own last change. */
  watchRow<Row>(table: Table<Row, string>, key: string): Watched {
    const index = this.#memory.rowIndex(table, key);
    // The index of a row from before a cut of history is where this server believes the cut to be: others differ.
    const own = this.snapshot.get(table, key)?.modifyIndex === index;
    return { topic: rowTopic(table, key), index, reported: own ? index : this.snapshot.index };
  }

  /** All rows under an entry of a watched index, as something to wait for. */
  watchEntry<Row, Index extends string>(table: Table<Row, Index>, index: Index, entry: string): Watched {
    const topic = entryTopic(table, index, entry);
    return { topic, index: this.#memory.entryIndex(table, topic), reported: this.snapshot.index };
  }

  /** Calls `wake` once, in a later turn, when one of `topics` changes. @returns forgets the waiter */
  wait(topics: readonly Topic[], wake: () => void): () => void {
    return this.#waiting.wait(topics, wake);
  }

  /** Calls `listener` in a later turn after each change of `topics`; several changes may be one call. @returns ends that */
  follow(topics: readonly Topic[], listener: () => void): () => void {
    const again = (): void => {
      forget = this.wait(topics, again);
      listener();
    };
    let forget = this.wait(topics, again);
    return () => forget();
  }

  /** Every change from now on, in order. @throws StateError `fell-behind`: start again from a snapshot */
  changes(signal: AbortSignal): AsyncIterable<Change> {
    return this.#feed.subscribe(signal);
  }

  /** Rows of a table straight from the store, in key order; the way to read a store-only table. */
  async scan<Row>(table: Table<Row, string>, range: ScanRange, signal: AbortSignal): Promise<Stored<Row>[]> {
    const rows = await this.#options.engine.scan(table.name, range, signal);
    return rows.map(({ key, value }) => decodeRow(table, key, value) as Stored<Row>);
  }

  /** Runs a job on one live node of the cluster, here when this one is picked for it. @returns ends it on this node */
  addJob(job: Job): () => void {
    return this.#jobs.add(job);
  }

  /** Calls `listener` whenever nodes come or go, or this one loses or wins its lease. @returns ends that */
  onMembers(listener: (members: readonly Member[]) => void): () => void {
    this.#memberListeners.add(listener);
    return () => this.#memberListeners.delete(listener);
  }

  /** Stops jobs and writes that have not started, and closes the engine. Wait for writes that matter before. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new StateError('aborted', 'the server is stopping'));
    for (const { reject } of this.#catchingUp.splice(0)) reject(this.#closing.signal.reason);
    await Promise.allSettled([this.#jobs.ended(), this.#loading]);
    await this.#options.engine[Symbol.asyncDispose]();
  }

  #follower(): Follower {
    return {
      onCommit: (change) => this.#onCommit(change),
      onBreak: (reason) => this.#reload(reason),
      onMembers: (members) => {
        this.#members = members;
        this.#format = (table) => writtenFormat(table, members);
        this.#jobs.onMembers(members);
        for (const listener of this.#memberListeners) listener(members);
      },
      onStatus: (node, slot, value) => this.status.onStatus(node, slot, value),
      onFatal: (error) => this.#fatal.resolve(error),
    };
  }

  #onCommit(change: CommittedChange): void {
    if (this.#early !== undefined) {
      this.#early.push(change);
      return;
    }
    if (change.index !== this.snapshot.index + 1) {
      this.#reload(`commit ${change.index} came after ${this.snapshot.index}`);
      return;
    }
    const inFlight = change.own ? this.#queue.inFlight : undefined;
    try {
      // Its trees count only if nothing came between: after a reload they would bring back what the load left out.
      if (inFlight?.base.trees === this.snapshot.trees) this.#memory.adopt(inFlight.batch, change.index);
      else this.#memory.apply(change.operations, change.index);
    } catch (error) {
      if (isStateError(error, 'corrupt')) this.#fatal.resolve(error);
      else this.#reload(`commit ${change.index} does not fit: ${String(error)}`);
    }
  }

  #reload(reason: string): void {
    this.#brokenWhileLoading = true;
    if (this.#early !== undefined) return;
    this.#options.log('warn', 'loading the state again', { reason });
    this.#early = [];
    if (!this.#reloading) this.#loading = this.#loadUntilDone();
  }

  async #loadUntilDone(): Promise<void> {
    const { signal } = this.#closing;
    this.#reloading = true;
    // What came early can break the new picture at once: one loop loads again, never two loads side by side.
    while (!signal.aborted && !this.loaded) {
      try {
        await this.#load();
      } catch (error) {
        if (signal.aborted) return;
        if (isStateError(error, 'corrupt')) {
          this.#fatal.resolve(error);
          return;
        }
        this.#options.log('warn', 'the state could not be loaded, trying again', { error });
        await sleep(this.#options.clock, RELOAD_MS, signal).catch(() => undefined);
      }
    }
    this.#reloading = false;
  }

  async #load(): Promise<void> {
    const { engine, schema } = this.#options;
    const { cluster, epoch, index } = this.snapshot;
    const floor = cluster === '' ? undefined : { cluster, epoch, index };
    let loaded: LoadedState;
    do {
      this.#brokenWhileLoading = false;
      this.#early = [];
      loaded = await loadState(engine, schema, floor, this.#closing.signal);
    } while (this.#brokenWhileLoading);
    const early = this.#early ?? [];
    this.#early = undefined;
    this.#memory.replace(loaded);
    for (const change of early) if (change.index > this.snapshot.index) this.#onCommit({ ...change, own: false });
  }

  #onChange(): void {
    if (this.#memory.draining) this.#queue.wake();
    if (!this.loaded) return;
    const { index } = this.snapshot;
    const ready = this.#catchingUp.filter((waiter) => waiter.index <= index);
    if (ready.length === 0) return;
    this.#catchingUp = this.#catchingUp.filter((waiter) => waiter.index > index);
    for (const { resolve } of ready) resolve();
  }

  /** Resolves when the state is loaded and holds at least `index`. */
  #caughtUp(index: number): Promise<void> {
    if (this.loaded && this.snapshot.index >= index) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#catchingUp.push({ index, resolve, reject });
    });
  }
}
