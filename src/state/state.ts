/**
 * The state: a cache of all rows in memory in front of a durable store. Every change is one guarded commit at an index.
 *
 * Guarantees: acknowledged writes are strictly serializable and never lost. Consistent reads are linearizable. The age
 * of stale reads is bounded by the last contact with the store. Status rows are eventually consistent.
 *
 * Rejected designs:
 * - A store query for each read: slower, and blocking queries would have to poll.
 * - An elected leader: the guard of a commit already decides.
 * - Waking only the waiters of changed rows after a reload: reloads are rare, and waking a waiter without need is
 *   allowed.
 */

import type { Rate } from '../budget/rate.ts';
import { type Clock, sleep } from './clock/clock.ts';
import type { Steps } from './clock/slices.ts';
import type { CommittedChange, Engine, Follower, Head, LiveNode, ScanRange, TableFormats } from './engine/engine.ts';
import { isStateError, StateError } from './errors.ts';
import { orphanRemovalJob } from './jobs/orphan-removal.ts';
import { type Job, Jobs } from './jobs/placement.ts';
import { StatusRows } from './jobs/status-rows.ts';
import { SPACE_CHECK_MS } from './limits.ts';
import { DamagedRowError, decodeRow, formatsToWrite, readableFormats } from './memory/codec.ts';
import { CommittedState, type LoadedState } from './memory/committed-state.ts';
import { loadState, tooLargeToLoad } from './memory/loader.ts';
import { type MemoryCapacity, UNLIMITED_MEMORY } from './memory/memory-capacity.ts';
import type { Snapshot } from './memory/snapshot.ts';
import { keyAfter, type Schema, type Stored, type Table } from './table.ts';
import { Barrier } from './watch/barrier.ts';
import { type Change, ChangeFeed } from './watch/change-feed.ts';
import { ChangeNotifier, entryTopic, rowTopic, type Topic } from './watch/change-notifier.ts';
import { type Admission, createAdmission, type RowQuota } from './write/admission.ts';
import type { Transaction } from './write/transaction.ts';
import { type WriteOptions, WriteQueue } from './write/write-queue.ts';

/** A topic to wait for. */
export interface Watched {
  readonly topic: Topic;
  /** The index of the last change of the topic, or a higher one. */
  readonly index: number;
  /**
   * The index for the client. For an existing row it is the row's own index, which is the same on every server. For
   * everything else it is the index of the snapshot, because servers that started at different times remember different
   * last changes, and a client that changes servers must never see its index fall. See [STATE-75].
   */
  readonly reportedIndex: number;
}

export interface StateOptions {
  readonly engine: Engine;
  readonly schema: Schema;
  /** The name of this server, unique in its cluster. */
  readonly node: string;
  readonly clock: Clock;
  /** The number of rows in memory beyond which writes that add rows fail. */
  readonly rowsMax: number;
  /** The end of the error message for `rows-max`: the limiting setting and the remedy. Defaults to `state.rows-max`. */
  readonly rowsMaxReason?: string;
  /** Limits on the rows that count toward one holder. Default: none. */
  readonly quotas?: readonly RowQuota[];
  /** The bytes per second that each caller may write. Default: no limit. */
  readonly writeRate?: Rate;
  /** The memory for rows. Default: no limit. */
  readonly memory?: MemoryCapacity;
  /** The highest head that this server has returned to clients in earlier runs. Default: none [STATE-118]. */
  readonly floor?: Head | undefined;
  readonly log: (level: 'info' | 'warn' | 'error', message: string, fields?: Record<string, unknown>) => void;
}

/** The pause between attempts to load from a store that does not answer. */
const RELOAD_MS = 500;

export class State implements AsyncDisposable {
  readonly #options: StateOptions;
  readonly #memory: MemoryCapacity;
  readonly #notifier = new ChangeNotifier();
  readonly #feed = new ChangeFeed();
  readonly #committed: CommittedState;
  readonly #writeQueue: WriteQueue;
  readonly #barrier: Barrier;
  readonly #jobs: Jobs;
  readonly #closing = new AbortController();
  readonly #fatal = Promise.withResolvers<Error>();
  /** The error of everything that waits after a failure to follow the store. */
  #failure: StateError | undefined;
  #liveNodes: readonly LiveNode[] = [];
  readonly #liveNodeListeners = new Set<(nodes: readonly LiveNode[]) => void>();
  /** See `BatchBase.formats`. */
  #formats: TableFormats;
  /** Commits that arrived during the current load; `undefined` if the state is loaded. */
  #bufferedCommits: CommittedChange[] | undefined = [];
  #mustLoadAgain = false;
  #reloading = false;
  #loading: Promise<void> | undefined;
  #indexWaiters: { readonly index: number; readonly resolve: () => void; readonly reject: (error: unknown) => void }[] =
    [];
  readonly status: StatusRows;
  /** The limits on rows and on the bytes of callers, for metrics. */
  readonly admission: Omit<Admission, 'refuse' | 'takeBytes'>;

  private constructor(options: StateOptions) {
    this.#options = options;
    this.#memory = options.memory ?? UNLIMITED_MEMORY;
    const { engine, schema, clock } = options;
    this.#formats = readableFormats(schema.tables);
    const onChange = (): void => this.#onChange();
    this.#committed = new CommittedState({ schema, clock, notifier: this.#notifier, feed: this.#feed, onChange });
    const signal = this.#closing.signal;
    const onError = (job: string, error: unknown): void => options.log('warn', 'background job failed', { job, error });
    this.#jobs = new Jobs({ node: options.node, clock, signal, onError });
    this.status = new StatusRows(engine);
    const { rowsMax, quotas = [], writeRate } = options;
    const rowsMaxReason = options.rowsMaxReason ?? `state.rows-max is ${rowsMax}: remove rows or raise it`;
    const admission = createAdmission(
      { rowsMax, rowsMaxReason, memory: this.#memory, quotas, writeRate },
      () => this.snapshot,
    );
    this.admission = admission;
    this.#writeQueue = new WriteQueue({
      engine,
      committed: this.#committed,
      clock,
      signal,
      admission,
      loaded: () => this.loaded,
      waitForIndex: (index) => this.#waitForIndex(index),
      base: () => ({
        schema,
        index: this.snapshot.index,
        epoch: this.snapshot.epoch,
        tables: this.snapshot.tables,
        mayHaveOrphans: this.snapshot.mayHaveOrphans,
        rowCount: this.snapshot.rowCount,
        rowCounts: this.snapshot.rowCounts,
        rowBytes: this.snapshot.rowBytes,
        formats: this.#formats,
      }),
    });
    this.#barrier = new Barrier(async (timeout) => {
      await this.#waitForIndex(0);
      if (engine.exclusive) return;
      const head = await engine.head(AbortSignal.any([timeout, signal]));
      await this.#waitForIndex(head.index);
    }, clock);
  }

  /** Returns a state that is not loaded. Reads and writes wait for `start`. */
  static create(options: StateOptions): State {
    return new State(options);
  }

  /** Creates and starts a state. Closes it if the start fails. */
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
   * Opens the engine, loads the store, and follows it from there.
   * @param prepare runs before the load and may fill an empty store; its signal aborts if the state is closed
   * @throws StateError `unavailable` | `locked` | `corrupt` | `memory-full` | `name-taken` | `not-empty`
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
    this.addJob(orphanRemovalJob(this, this.#committed, clock, engine.limits.operationsMax));
    void this.#watchSpace();
    const housekeep = engine.housekeep?.bind(engine);
    if (housekeep !== undefined) this.addJob({ name: 'housekeeping', run: housekeep });
  }

  /** The current snapshot. Read it once for everything that must be consistent. */
  get snapshot(): Snapshot {
    return this.#committed.snapshot;
  }

  /** Resolves with the reason when the process must end, because continuing could lose data. */
  get fatal(): Promise<Error> {
    return this.#fatal.promise;
  }

  /** Whether the state is loaded and follows the store; false during a reload. */
  get loaded(): boolean {
    return this.#bufferedCommits === undefined;
  }

  /** The live servers of the cluster. This server is missing while it has lost its lease. */
  get liveNodes(): readonly LiveNode[] {
    return this.#liveNodes;
  }

  get schema(): Schema {
    return this.#options.schema;
  }

  get rowsMax(): number {
    return this.#options.rowsMax;
  }

  /** The memory for rows, in bytes. */
  get rowBytesMax(): number {
    return this.#memory.bytesMax;
  }

  get waiterCount(): number {
    return this.#notifier.waiterCount;
  }

  lastContactMs(): number {
    return this.#options.engine.lastContactMs();
  }

  /** Whether the last barrier failed and the store has not answered any request since. */
  get storeFailing(): boolean {
    const { failedAtMs } = this.#barrier;
    return failedAtMs !== undefined && this.#options.clock.monotonic() - this.lastContactMs() < failedAtMs;
  }

  /**
   * Runs `fn`, a synchronous function that reads and changes tables through `tx`, and throws to reject the write. It
   * must have no side effects, because it may run more than once. Resolves with its result when the commit is durable
   * and visible on this server. Rejects with the error of `fn` when the rows that `fn` read are durable.
   * @throws StateError `unavailable` | `outcome-unknown` | `overloaded` | `full` | `too-large` | `rows-max` | `quota` |
   *   `rate-limited` | `aborted`
   */
  write<T>(fn: (tx: Transaction) => T, options: WriteOptions = {}): Promise<T> {
    if (this.#closing.signal.aborted) return Promise.reject(new StateError('aborted', 'the server is stopping'));
    return this.#writeQueue.write(fn, options);
  }

  /**
   * Runs a large write as `write` does, but in slices: `fn` returns its steps, and other requests run while it pauses.
   * It still sees one state and its own changes, and is committed whole, because other writes wait until it has ended.
   * @throws StateError, as `write`
   */
  writeInSlices<T>(fn: (tx: Transaction) => Steps<T>, options: WriteOptions = {}): Promise<T> {
    if (this.#closing.signal.aborted) return Promise.reject(new StateError('aborted', 'the server is stopping'));
    return this.#writeQueue.writeInSlices(fn, options);
  }

  /**
   * Waits until the snapshot contains every commit made before this call. Returns `undefined` if it already does.
   * @throws StateError `unavailable` if the store does not answer within BARRIER_MS
   */
  consistent(): Promise<void> | undefined {
    return this.#options.engine.exclusive && this.loaded ? undefined : this.#barrier.join();
  }

  /** Returns the topic of a row, existing or missing. */
  watchRow<Row>(table: Table<Row, string>, key: string): Watched {
    const index = this.#committed.rowIndex(table, key);
    // For a row from an earlier epoch, `index` is the index at which this server first loaded the current epoch. Other
    // servers may have loaded the epoch at another index.
    const isOwnIndex = this.snapshot.get(table, key)?.modifyIndex === index;
    return { topic: rowTopic(table, key), index, reportedIndex: isOwnIndex ? index : this.snapshot.index };
  }

  /** Returns the topic of all rows under an entry of a watched index. */
  watchEntry<Row, Index extends string>(table: Table<Row, Index>, index: Index, entry: string): Watched {
    const topic = entryTopic(table, index, entry);
    return { topic, index: this.#committed.entryIndex(table, topic), reportedIndex: this.snapshot.index };
  }

  /** Calls `wake` once, in a later turn, when one of `topics` changes. @returns a function that removes it */
  wait(topics: readonly Topic[], wake: () => void): () => void {
    return this.#notifier.wait(topics, wake);
  }

  /** Calls `listener` in a later turn after changes of `topics`, once for several. @returns a function to stop it */
  follow(topics: readonly Topic[], listener: () => void): () => void {
    const onWake = (): void => {
      remove = this.wait(topics, onWake);
      listener();
    };
    let remove = this.wait(topics, onWake);
    return () => remove();
  }

  /** Returns every change from now on, in order. @throws StateError `fell-behind`; restart from a snapshot */
  changes(signal: AbortSignal): AsyncIterable<Change> {
    return this.#feed.subscribe(signal);
  }

  /**
   * Reads rows of a table from the store in key order. The only way to read a store-only table. Skips damaged rows,
   * reports each to `onDamaged`, and reads further ones in their place; by default it logs them.
   * @throws StateError `unavailable`, `corrupt` if the store cannot read the range or a newer version wrote a row
   */
  async scan<Row>(
    table: Table<Row, string>,
    range: ScanRange,
    signal: AbortSignal,
    onDamaged = (error: DamagedRowError) => this.#reportDamage(error),
  ): Promise<Stored<Row>[]> {
    const found: Stored<Row>[] = [];
    for (let rest = range; ; ) {
      const rows = await this.#options.engine.scan(table.name, rest, signal);
      for (const { key, value } of rows) {
        try {
          found.push(decodeRow(table, key, value) as Stored<Row>);
        } catch (error) {
          if (!(error instanceof DamagedRowError)) throw error;
          onDamaged(error);
        }
      }
      const last = rows.at(-1)?.key;
      if (last === undefined || rows.length < rest.limit || found.length === range.limit) return found;
      const limit = range.limit - found.length;
      rest = range.reverse ? { ...range, limit, to: last } : { ...range, limit, from: keyAfter(last) };
    }
  }

  #reportDamage(error: DamagedRowError): void {
    const { table, key, message } = error;
    this.#options.log('error', 'stored row is damaged', { table, key, reason: message });
  }

  /** Adds a job, which runs on one live server. @returns a function that stops and removes the job on this server */
  addJob(job: Job): () => void {
    return this.#jobs.add(job);
  }

  /**
   * Calls `listener` whenever a server joins or leaves, or this one loses or regains its lease.
   * @returns a function that removes the listener
   */
  onLiveNodes(listener: (nodes: readonly LiveNode[]) => void): () => void {
    this.#liveNodeListeners.add(listener);
    return () => this.#liveNodeListeners.delete(listener);
  }

  /** Keeps the admission of writes informed about the room in the store, if the store tells. */
  async #watchSpace(): Promise<void> {
    const { engine, clock } = this.#options;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      try {
        this.admission.setSpace(await engine.space(signal));
      } catch {
        // The last answer counts until the store answers again.
      }
      await sleep(clock, SPACE_CHECK_MS, signal).catch(() => undefined);
    }
  }

  /** Stops jobs, rejects pending writes, and closes the engine. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(new StateError('aborted', 'the server is stopping'));
    for (const { reject } of this.#indexWaiters.splice(0)) reject(this.#closing.signal.reason);
    await Promise.allSettled([this.#jobs.stopped(), this.#loading]);
    await this.#options.engine[Symbol.asyncDispose]();
  }

  #follower(): Follower {
    return {
      onCommit: (change) => this.#onCommit(change),
      onBreak: (reason) => this.#reload(reason),
      onLiveNodes: (nodes) => {
        this.#liveNodes = nodes;
        this.#jobs.onLiveNodes(nodes);
        for (const listener of this.#liveNodeListeners) listener(nodes);
      },
      onFormats: (formats) => {
        this.#formats = formatsToWrite(this.schema.tables, formats);
      },
      onStatus: (node, slot, value) => this.status.onStatus(node, slot, value),
      onFatal: (error) => this.#fatal.resolve(error),
    };
  }

  #onCommit(change: CommittedChange): void {
    if (this.#bufferedCommits !== undefined) {
      this.#bufferedCommits.push(change);
      return;
    }
    if (change.index !== this.snapshot.index + 1) {
      this.#reload(`commit ${change.index} came after ${this.snapshot.index}`);
      return;
    }
    const inFlight = change.own ? this.#writeQueue.inFlight : undefined;
    try {
      // Adopts its tables only if they build on the current ones: after a reload they would restore dropped orphans.
      if (inFlight?.base.tables === this.snapshot.tables) this.#committed.adopt(inFlight.batch, change.index);
      else this.#committed.apply(change.operations, change.index);
      // Only another server with more memory can have made such a commit.
      if (this.snapshot.rowBytes > this.#memory.loadBytesMax) throw tooLargeToLoad(this.#memory);
    } catch (error) {
      if (isStateError(error, 'corrupt', 'memory-full')) this.#fail(error);
      else this.#reload(`commit ${change.index} does not fit: ${String(error)}`);
    }
  }

  #reload(reason: string): void {
    this.#mustLoadAgain = true;
    if (this.#bufferedCommits !== undefined) return;
    this.#options.log('warn', 'state reload started', { reason });
    this.#bufferedCommits = [];
    if (!this.#reloading) this.#loading = this.#loadUntilDone();
  }

  async #loadUntilDone(): Promise<void> {
    const { signal } = this.#closing;
    this.#reloading = true;
    // A loop, because buffered commits may require another load, and two loads must never run at the same time.
    while (!signal.aborted && !this.loaded) {
      try {
        await this.#load();
      } catch (error) {
        if (signal.aborted) return;
        if (isStateError(error, 'corrupt', 'memory-full')) {
          this.#fail(error);
          return;
        }
        this.#options.log('warn', 'state reload failed', { error });
        await sleep(this.#options.clock, RELOAD_MS, signal).catch(() => undefined);
      }
    }
    this.#reloading = false;
  }

  async #load(): Promise<void> {
    const { engine, schema } = this.#options;
    const { cluster, epoch, index } = this.snapshot;
    const floor = cluster === '' ? this.#options.floor : { cluster, epoch, index };
    let loaded: LoadedState;
    do {
      this.#mustLoadAgain = false;
      this.#bufferedCommits = [];
      loaded = await loadState(engine, schema, this.#memory, floor, this.#closing.signal);
    } while (this.#mustLoadAgain);
    const buffered = this.#bufferedCommits ?? [];
    this.#bufferedCommits = undefined;
    this.#committed.load(loaded);
    for (const change of buffered) if (change.index > this.snapshot.index) this.#onCommit({ ...change, own: false });
  }

  #onChange(): void {
    if (this.#committed.hasOrphans) this.#writeQueue.wake();
    if (!this.loaded) return;
    const { index } = this.snapshot;
    const ready = this.#indexWaiters.filter((waiter) => waiter.index <= index);
    if (ready.length === 0) return;
    this.#indexWaiters = this.#indexWaiters.filter((waiter) => waiter.index > index);
    for (const { resolve } of ready) resolve();
  }

  /** Ends the process, and fails what waits for a commit that this server cannot follow. */
  #fail(error: StateError): void {
    this.#failure = new StateError('unavailable', `this server is stopping: ${error.message}`, { cause: error });
    this.#fatal.resolve(error);
    for (const { reject } of this.#indexWaiters.splice(0)) reject(this.#failure);
  }

  #waitForIndex(index: number): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if (this.loaded && this.snapshot.index >= index) return Promise.resolve();
    return new Promise((resolve, reject) => {
      this.#indexWaiters.push({ index, resolve, reject });
    });
  }
}
