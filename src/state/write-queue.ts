/**
 * Writes that wait, put together into batches, one batch at the engine at a time.
 *
 * Every outcome of a batch (value, refusal, no-op) is held until the batch is durable: a refusal describes rows that
 * could still not come to be. A conflict throws all outcomes away and runs the writes again on what the other node made.
 */
import type { Clock } from './clock.ts';
import type { CommitLimits, Engine } from './engine.ts';
import { isStateError, StateError } from './errors.ts';
import {
  ATTEMPTS_MAX,
  ATTEMPTS_MS,
  BATCH_BYTES_MAX,
  BATCH_CPU_MS,
  BATCH_OPERATIONS_MAX,
  WAITING_BYTES_MAX,
  WAITING_WRITES_MAX,
  WRITE_BYTES_DEFAULT,
  WRITE_MS_MAX,
} from './limits.ts';
import type { Memory } from './memory.ts';
import { nextTurn } from './next-turn.ts';
import { type Batch, type BatchBase, createBatch, type Fixed, type Transaction } from './transaction.ts';

/** What a caller may say about a write. */
export interface WriteOptions {
  /** Drops the write if it has not been started. */
  readonly signal?: AbortSignal;
  /** Roughly what the closure holds, for the bound on waiting writes. */
  readonly bytes?: number;
}

interface Entry {
  readonly fn: (tx: Transaction) => unknown;
  readonly fixed: Fixed;
  readonly signal: AbortSignal | undefined;
  readonly bytes: number;
  readonly queuedAt: number;
  attempts: number;
  settled: boolean;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

interface Outcome {
  readonly entry: Entry;
  readonly failed: boolean;
  readonly value: unknown;
}

interface InFlight {
  readonly batch: Batch;
  readonly base: BatchBase & { readonly epoch: number };
  readonly outcomes: readonly Outcome[];
}

export interface WriteQueueParts {
  readonly engine: Engine;
  readonly memory: Memory;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** What the next batch is built on. */
  readonly base: () => BatchBase & { readonly epoch: number };
  readonly rowsMax: number;
  /** Resolves when the state is loaded and holds at least `index`. */
  readonly caughtUp: (index: number) => Promise<void>;
}

/** How often waiting writes are looked through for callers whose time is over. */
const SWEEP_MS = 500;

export class WriteQueue {
  readonly #parts: WriteQueueParts;
  #queue: Entry[] = [];
  #queuedBytes = 0;
  #inFlight: InFlight | undefined;
  #running = false;
  #cancelSweep: (() => void) | undefined;
  /** So many batches are of one write each: their sum was more than the store takes, though it looked smaller. */
  #single = 0;

  constructor(parts: WriteQueueParts) {
    this.#parts = parts;
  }

  /** The batch that the engine is committing. */
  get inFlight(): InFlight | undefined {
    return this.#inFlight;
  }

  /** Queues a write. @throws StateError, see `State.write` */
  write<T>(fn: (tx: Transaction) => T, { signal, bytes = WRITE_BYTES_DEFAULT }: WriteOptions = {}): Promise<T> {
    if (this.#queue.length >= WAITING_WRITES_MAX || this.#queuedBytes + bytes > WAITING_BYTES_MAX) {
      const error = new StateError('overloaded', 'too many writes are waiting: try again later', {
        retryAfterSeconds: 1,
      });
      return Promise.reject(error);
    }
    return new Promise<T>((resolve, reject) => {
      const queuedAt = this.#parts.clock.monotonic();
      const fixed: Fixed = { now: undefined, values: [] };
      const settle = resolve as (value: unknown) => void;
      this.#queue.push({ fn, fixed, signal, bytes, queuedAt, attempts: 0, settled: false, resolve: settle, reject });
      this.#queuedBytes += bytes;
      this.wake();
    });
  }

  /** Starts the loop if there is something to do: writes, or orphans to drop. */
  wake(): void {
    if (this.#running || (this.#queue.length === 0 && !this.#parts.memory.draining)) return;
    this.#running = true;
    // In a turn of its own, so that writes that arrive together become one batch.
    setImmediate(() => void this.#run());
  }

  async #run(): Promise<void> {
    const { memory, signal } = this.#parts;
    this.#sweepLater();
    try {
      while (this.#queue.length > 0 || memory.draining) {
        if (signal.aborted) throw new StateError('aborted', 'the server is stopping');
        await this.#parts.caughtUp(0);
        if (memory.draining) memory.drainSlice();
        if (this.#queue.length > 0) await this.#runBatch();
        else await nextTurn();
      }
    } catch (error) {
      const waiting = this.#queue.splice(0);
      this.#queuedBytes = 0;
      for (const entry of waiting) fail(entry, error);
    } finally {
      this.#running = false;
      this.#cancelSweep?.();
      this.#cancelSweep = undefined;
    }
    // Orphans would wake it for ever in a state that is closed.
    if (!signal.aborted) this.wake();
  }

  async #runBatch(): Promise<void> {
    const { engine, signal } = this.#parts;
    const base = this.#parts.base();
    const batch = createBatch(base);
    const outcomes = this.#fill(batch, base);
    if (outcomes.length === 0) return;
    this.#inFlight = { batch, base, outcomes };
    try {
      const result = await this.#commit(batch, base);
      if (result !== 'committed') {
        // Known not to be made: a caller whose time runs out while this node catches up is told so.
        this.#inFlight = undefined;
        this.#again(outcomes);
        await this.#parts.caughtUp(result.index);
        return;
      }
      // A commit that was made while the state is loaded again becomes visible with the load.
      if (batch.operationCount > 0 && this.#parts.memory.snapshot.index <= base.index) {
        await this.#parts.caughtUp(base.index + 1);
      }
      for (const { entry, failed, value } of outcomes) {
        if (entry.settled) continue;
        entry.settled = true;
        if (failed) entry.reject(value);
        else entry.resolve(value);
      }
    } catch (error) {
      if (isStateError(error, 'too-large') && outcomes.length > 1 && !signal.aborted) {
        this.#single += outcomes.length;
        this.#again(outcomes);
        return;
      }
      for (const { entry } of outcomes) fail(entry, tooLargeNamesLimit(error, engine));
    } finally {
      this.#inFlight = undefined;
    }
  }

  /** Proves or makes the batch. Otherwise: the index that this node must have reached before it tries again. */
  async #commit(batch: Batch, base: InFlight['base']): Promise<'committed' | { readonly index: number }> {
    const { engine, signal } = this.#parts;
    if (batch.operationCount > 0) {
      const commit = { epoch: base.epoch, base: base.index, operations: batch.operations() };
      const result = await engine.commit(commit, signal);
      return result === 'committed' ? result : { index: base.index + 1 };
    }
    if (engine.exclusive) return 'committed';
    const head = await engine.head(signal);
    return head.epoch === base.epoch && head.index === base.index ? 'committed' : { index: head.index };
  }

  /** Runs waiting writes until the batch is full. */
  #fill(batch: Batch, base: InFlight['base']): Outcome[] {
    const { clock } = this.#parts;
    const startedAt = clock.monotonic();
    const now = clock.now();
    const outcomes: Outcome[] = [];
    const single = this.#single > 0;
    if (single) this.#single--;
    let taken = 0;
    for (const entry of this.#queue) {
      const enough = outcomes.length > 0 && (single || clock.monotonic() - startedAt >= BATCH_CPU_MS);
      if (enough || !this.#add(batch, base, entry, now, outcomes)) break;
      taken++;
      this.#queuedBytes -= entry.bytes;
    }
    this.#queue = taken === this.#queue.length ? [] : this.#queue.slice(taken);
    return outcomes;
  }

  /** Runs one write as part of the batch. @returns false when the batch has no room for it */
  #add(batch: Batch, base: InFlight['base'], entry: Entry, now: number, outcomes: Outcome[]): boolean {
    const { engine } = this.#parts;
    if (entry.signal?.aborted && entry.attempts === 0) fail(entry, callerLeft());
    if (entry.settled) return true;
    const alone = batch.operationCount === 0;
    const outcome = this.#attempt(batch, base, entry, now);
    if (!alone && exceeds(batch, batchMax(engine))) {
      outcome.undo();
      return false;
    }
    if (exceeds(batch, engine.limits)) {
      const error = new StateError('too-large', tooLargeText(batch, engine));
      outcome.undo();
      outcomes.push({ entry, failed: true, value: error });
    } else {
      outcomes.push(outcome);
    }
    return true;
  }

  #attempt(batch: Batch, base: BatchBase, entry: Entry, now: number): Outcome & { undo(): void } {
    try {
      const run = batch.run(entry.fn, entry.fixed, now);
      if (batch.rowsAdded > 0 && base.rowCount + batch.rowsAdded > this.#parts.rowsMax) {
        run.undo();
        const text = `the state holds ${base.rowCount} rows, state.rows-max is ${this.#parts.rowsMax}: remove rows or raise it`;
        return { entry, failed: true, value: new StateError('rows-max', text), undo() {} };
      }
      return { entry, failed: false, value: run.value, undo: run.undo };
    } catch (error) {
      return { entry, failed: true, value: error, undo() {} };
    }
  }

  /** Puts writes back in front, except those that were tried often enough. */
  #again(outcomes: readonly Outcome[]): void {
    const now = this.#parts.clock.monotonic();
    const again: Entry[] = [];
    for (const { entry } of outcomes) {
      entry.attempts++;
      if (entry.attempts >= ATTEMPTS_MAX || now - entry.queuedAt > ATTEMPTS_MS) {
        const text = `other servers changed the state first, ${entry.attempts} times: try again later`;
        fail(entry, new StateError('overloaded', text, { retryAfterSeconds: 1 }));
      }
      if (entry.settled) continue;
      this.#queuedBytes += entry.bytes;
      again.push(entry);
    }
    this.#queue = [...again, ...this.#queue];
  }

  /** Answers callers whose time is over; the writes of a batch in flight go on without them. */
  #sweepLater(): void {
    this.#cancelSweep = this.#parts.clock.after(SWEEP_MS, () => {
      const deadline = this.#parts.clock.monotonic() - WRITE_MS_MAX;
      for (const { entry } of this.#inFlight?.outcomes ?? []) {
        if (entry.queuedAt > deadline) continue;
        const text = 'the store has not answered in time: whether the write was made is unknown';
        fail(entry, new StateError('outcome-unknown', text, { retryAfterSeconds: 5 }));
      }
      for (const entry of this.#queue) {
        if (entry.queuedAt <= deadline) {
          const text = 'the store cannot be reached: the write was not made';
          fail(entry, new StateError('unavailable', text, { retryAfterSeconds: 5 }));
        } else if (entry.signal?.aborted && entry.attempts === 0) {
          fail(entry, callerLeft());
        }
      }
      this.#dropSettled();
      this.#sweepLater();
    });
  }

  /** Makes room: while the store is away nothing else takes writes out of the queue. */
  #dropSettled(): void {
    const waiting = this.#queue.filter((entry) => !entry.settled);
    if (waiting.length === this.#queue.length) return;
    this.#queue = waiting;
    this.#queuedBytes = waiting.reduce((sum, entry) => sum + entry.bytes, 0);
  }
}

type BatchMax = Pick<CommitLimits, 'operationsMax' | 'bytesMax'>;

/** What writes may fill a batch up to; one write alone may be as large as the engine takes. */
function batchMax({ limits }: Engine): BatchMax {
  return {
    operationsMax: Math.min(limits.operationsMax, BATCH_OPERATIONS_MAX),
    bytesMax: Math.min(limits.bytesMax, BATCH_BYTES_MAX),
  };
}

const exceeds = (batch: Batch, { operationsMax, bytesMax }: BatchMax): boolean =>
  batch.operationCount > operationsMax || batch.bytes > bytesMax;

function fail(entry: Entry, error: unknown): void {
  if (entry.settled) return;
  entry.settled = true;
  entry.reject(error);
}

function callerLeft(): StateError {
  return new StateError('aborted', 'the caller left before the write was started');
}

function tooLargeText(batch: Batch, { limits }: Engine): string {
  return `the write is too large for one commit: ${batch.operationCount} operations and ${batch.bytes} bytes, the store takes ${limits.operationsMax} and ${limits.bytesMax}; ${limits.hint}`;
}

function tooLargeNamesLimit(error: unknown, { limits }: Engine): unknown {
  if (!isStateError(error, 'too-large')) return error;
  return new StateError('too-large', `${error.message}; ${limits.hint}`, { cause: error });
}
