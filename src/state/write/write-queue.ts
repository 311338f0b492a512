/**
 * The write queue: puts pending writes together into batches, and commits one batch at a time.
 *
 * No outcome of a batch (value, rejection, or no-op) settles before the batch is durable, because even a rejection
 * describes rows of the batch. A conflict discards all outcomes and runs the writes again on the new state.
 *
 * While the engine commits a batch, the queue builds the next one on its expected result. It sends the next batch only
 * if exactly that result became current. Otherwise it drops the batch and runs its writes, which are still queued,
 * again. Readers see the tables of a batch only after the engine has delivered the commit. See [STATE-34] to
 * [STATE-53].
 */

import type { Clock } from '../clock/clock.ts';
import { nextTurn } from '../clock/next-turn.ts';
import type { Steps } from '../clock/slices.ts';
import type { Engine } from '../engine/engine.ts';
import { isStateError, StateError } from '../errors.ts';
import {
  ATTEMPTS_MAX,
  ATTEMPTS_MS,
  LARGE_WRITE_ATTEMPTS_MIN,
  LARGE_WRITE_MS_MAX,
  LARGE_WRITES_BYTES_MAX,
  LARGE_WRITES_MAX,
  PENDING_BYTES_MAX,
  PENDING_WRITES_MAX,
  WRITE_BYTES_DEFAULT,
  WRITE_MS_MAX,
} from '../limits.ts';
import type { CommittedState } from '../memory/committed-state.ts';
import type { Admission, WriteCaller } from './admission.ts';
import type { BatchBase } from './batch-changes.ts';
import { fillBatch, type OpenBatch, openBatch, runLargeWrite } from './open-batch.ts';
import {
  createPendingWrites,
  type DisconnectSignal,
  fail,
  isDisconnected,
  type PendingWrite,
  type PendingWrites,
} from './pending-writes.ts';
import type { Transaction } from './transaction.ts';

export interface WriteOptions {
  /** Drops the write if the client disconnects before the write is sent. */
  readonly signal?: DisconnectSignal;
  /** Estimated bytes that the closure holds, for the bound on pending writes. */
  readonly bytes?: number;
  /** Settles with the outcome that the write would have, and keeps no change. */
  readonly dryRun?: boolean;
  /** Makes the write even if the state has `rowsMax` rows. For rows that keep the server accessible. */
  readonly beyondRowsMax?: boolean;
  /** Whether the purpose of the write is a removal, although it may add a row that remembers it. */
  readonly isRemoval?: boolean;
  /** On whose behalf the write is made. Absent: the server's own. */
  readonly caller?: WriteCaller;
}

export interface WriteQueueParts {
  readonly engine: Engine;
  readonly committed: CommittedState;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Returns the state that the next batch builds on when no batch is in flight. */
  readonly base: () => BatchBase;
  readonly admission: Admission;
  readonly loaded: () => boolean;
  /** Resolves when the state is loaded and has reached `index`. */
  readonly waitForIndex: (index: number) => Promise<void>;
}

/** The engine's answer. After a conflict, `index` is the index that this server must reach before it retries. */
type CommitResult = 'committed' | { readonly index: number };

interface InFlightBatch extends OpenBatch {
  readonly result: Promise<CommitResult>;
}

/** The interval between checks for writes whose time is over. */
const SWEEP_MS = 500;

export class WriteQueue {
  readonly #parts: WriteQueueParts;
  readonly #pending = createPendingWrites({
    writesMax: PENDING_WRITES_MAX,
    bytesMax: PENDING_BYTES_MAX,
    lateError() {
      const text = 'the store cannot be reached: nothing was written';
      return new StateError('unavailable', text, { retryAfterSeconds: 5 });
    },
  });
  /** Large writes, which run in slices and have batches of their own. */
  readonly #pendingLarge = createPendingWrites({
    writesMax: LARGE_WRITES_MAX,
    bytesMax: LARGE_WRITES_BYTES_MAX,
    lateError() {
      const text = 'the write was too slow, or waited too long for other large writes: nothing was written';
      return new StateError('overloaded', text, { retryAfterSeconds: 5 });
    },
  });
  /** Whether a large write is next, because the last batch that was sent contained other writes. */
  #isLargeNext = false;
  #inFlight: OpenBatch | undefined;
  /** The batch built on the expected result of `#inFlight`. */
  #nextBatch: OpenBatch | undefined;
  #nextBatchScheduled = false;
  #running = false;
  #cancelSweep: (() => void) | undefined;
  /** Aborts when the large write for which this server has reserved the turn has ended. */
  #reservation: AbortController | undefined;
  /** Remaining single-write batches after the store rejected a batch as too large. */
  #singleWriteBatches = 0;

  constructor(parts: WriteQueueParts) {
    this.#parts = parts;
  }

  get inFlight(): OpenBatch | undefined {
    return this.#inFlight;
  }

  /** Queues a write. @throws StateError, see `State.write` */
  write<T>(run: (tx: Transaction) => T, options: WriteOptions = {}): Promise<T> {
    return this.#add(this.#pending, run, options) as Promise<T>;
  }

  /** Queues a large write. @throws StateError, see `State.writeInSlices` */
  writeInSlices<T>(run: (tx: Transaction) => Steps<T>, options: WriteOptions = {}): Promise<T> {
    return this.#add(this.#pendingLarge, run, options) as Promise<T>;
  }

  #add(
    pending: PendingWrites,
    run: (tx: Transaction) => unknown,
    {
      signal,
      bytes = WRITE_BYTES_DEFAULT,
      dryRun = false,
      beyondRowsMax = false,
      isRemoval = false,
      caller,
    }: WriteOptions,
  ): Promise<unknown> {
    const queuedAt = this.#parts.clock.monotonic();
    const expiresAt = queuedAt + (pending === this.#pendingLarge ? LARGE_WRITE_MS_MAX : WRITE_MS_MAX);
    return new Promise((resolve, reject) => {
      pending.add({
        run,
        replayInputs: { now: undefined, values: [] },
        signal,
        bytes,
        dryRun,
        beyondRowsMax,
        isRemoval,
        caller,
        chargedBytes: 0,
        queuedAt,
        expiresAt,
        attempts: 0,
        settled: false,
        resolve,
        reject,
      });
      this.wake();
    });
  }

  get #hasPending(): boolean {
    return this.#pending.length + this.#pendingLarge.length > 0;
  }

  /** Starts the loop if there are pending writes, or orphans to drop from memory. */
  wake(): void {
    if (this.#running) {
      this.#scheduleNextBatch();
    } else if (this.#hasPending || this.#parts.committed.hasOrphans) {
      this.#running = true;
      // In a later turn, so that writes that arrive together share a batch.
      setImmediate(() => void this.#run());
    }
  }

  async #run(): Promise<void> {
    const { committed, signal } = this.#parts;
    this.#scheduleSweep();
    let failed = false;
    try {
      let inFlight: InFlightBatch | undefined;
      while (inFlight !== undefined || this.#hasPending || committed.hasOrphans) {
        inFlight = await (inFlight === undefined ? this.#startBatch() : this.#finishBatch(inFlight));
      }
    } catch (error) {
      failed = true;
      this.#nextBatch = undefined;
      this.#pending.failAll(error);
      this.#pendingLarge.failAll(error);
    } finally {
      this.#running = false;
      this.#releaseTurn();
      this.#cancelSweep?.();
      this.#cancelSweep = undefined;
    }
    // In a closed or failed state, orphans would restart the loop forever.
    if (!signal.aborted && !failed) this.wake();
  }

  /** Drops a slice of orphans and sends a batch, once the state is loaded. Runs a slice of a large write instead. */
  async #startBatch(): Promise<InFlightBatch | undefined> {
    const { committed, signal } = this.#parts;
    if (signal.aborted) throw new StateError('aborted', 'the server is stopping');
    await this.#parts.waitForIndex(0);
    // A large write would have to start again.
    if (committed.hasOrphans && this.#nextBatch?.running === undefined) committed.dropOrphans();
    const sent = this.#hasPending ? this.#sendBatch() : undefined;
    if (sent === undefined) await nextTurn();
    return sent;
  }

  /** Waits for the engine and settles the writes of the batch. @returns the next batch if it was sent immediately */
  async #finishBatch(inFlight: InFlightBatch): Promise<InFlightBatch | undefined> {
    const { loaded, waitForIndex, committed, signal } = this.#parts;
    const { base, batch, outcomes } = inFlight;
    let next: InFlightBatch | undefined;
    try {
      const result = await inFlight.result;
      if (result !== 'committed') {
        // The store did not commit the batch. A write that times out from here on fails with `unavailable`.
        this.#inFlight = undefined;
        this.#retry(inFlight);
        await waitForIndex(result.index);
        return undefined;
      }
      // A commit that the store made during a reload becomes visible with the load.
      if (batch.operationCount > 0 && committed.snapshot.index <= base.index) {
        await waitForIndex(base.index + 1).catch((cause) => {
          throw new StateError(
            'outcome-unknown',
            'the write was committed, but this server is stopping and cannot show it',
            { cause },
          );
        });
      }
    } catch (error) {
      this.#inFlight = undefined;
      this.#failBatch(inFlight, error);
      return undefined;
    }
    this.#inFlight = undefined;
    if (inFlight.pending === this.#pendingLarge) this.#releaseTurn();
    // Sent before the writes are settled, so that the engine works while the callers process their results.
    if (this.#hasPending && loaded() && !committed.hasOrphans && !signal.aborted) next = this.#sendBatch();
    for (const { write, failed, value } of outcomes) {
      if (write.settled) continue;
      write.settled = true;
      if (failed) write.reject(value);
      else write.resolve(value);
    }
    return next;
  }

  /**
   * Sends the batch that was built ahead. If the state has changed or a client has disconnected, sends a new batch.
   * @returns `undefined` if there is nothing to send, or a large write has paused
   */
  #sendBatch(): InFlightBatch | undefined {
    const base = this.#parts.base();
    const built = this.#nextBatch;
    this.#nextBatch = undefined;
    const isUsable =
      built !== undefined && isSameBase(built.base, base) && !built.outcomes.some(({ write }) => isDisconnected(write));
    const open = isUsable ? built : this.#openBatch(base);
    // Another server has committed, so a large write starts again. It takes longer than the pause between two commits.
    if (!isUsable && built?.pending === this.#pendingLarge) this.#reserveTurn();
    this.#fillBatch(open);
    if (open.running !== undefined) {
      this.#nextBatch = open;
      return undefined;
    }
    open.pending.removeFirst(open.taken);
    if (open.outcomes.length === 0) return undefined;
    if (this.#singleWriteBatches > 0) this.#singleWriteBatches--;
    this.#inFlight = open;
    this.#isLargeNext = open.pending === this.#pending;
    this.#scheduleNextBatch();
    return { ...open, result: this.#commitBatch(open) };
  }

  /** Commits a batch. A batch without operations proves its base instead. */
  async #commitBatch({ batch, base }: OpenBatch): Promise<CommitResult> {
    const { engine, signal } = this.#parts;
    if (batch.operationCount > 0) {
      const { epoch, index, formats } = base;
      const commit = { epoch, base: index, operations: batch.operations(), formats };
      const result = await engine.commit(commit, signal);
      return result === 'committed' ? result : { index: base.index + 1 };
    }
    if (engine.exclusive) return 'committed';
    const head = await engine.head(signal);
    return head.epoch === base.epoch && head.index === base.index ? 'committed' : { index: head.index };
  }

  /** Opens a batch. While both kinds of writes are pending, one large write follows one batch of other writes. */
  #openBatch(base: BatchBase): OpenBatch {
    const isLarge = this.#pendingLarge.length > 0 && (this.#isLargeNext || this.#pending.length === 0);
    return openBatch(base, isLarge ? this.#pendingLarge : this.#pending);
  }

  #fillBatch(open: OpenBatch): void {
    if (open.pending === this.#pendingLarge) runLargeWrite(open, this.#parts);
    else fillBatch(open, this.#singleWriteBatches > 0, this.#parts);
  }

  #scheduleNextBatch(): void {
    const isIdle = this.#inFlight === undefined || this.#nextBatch?.isFull || this.#parts.signal.aborted;
    const next = this.#nextBatch;
    const hasPending = next === undefined ? this.#hasPending : next.pending.length > next.taken;
    if (isIdle || this.#nextBatchScheduled || !hasPending) return;
    this.#nextBatchScheduled = true;
    setImmediate(() => {
      this.#nextBatchScheduled = false;
      this.#buildNextBatch();
    });
  }

  #buildNextBatch(): void {
    if (this.#inFlight === undefined) return;
    const base = this.#inFlight.batch.nextBase();
    // Slices of orphans are dropped between this batch and the next one.
    if (base.mayHaveOrphans) return;
    this.#nextBatch ??= this.#openBatch(base);
    this.#fillBatch(this.#nextBatch);
    this.#scheduleNextBatch();
  }

  /** Queues the writes of an uncommitted batch again, before all others. Fails writes that had too many attempts. */
  #retry({ pending, outcomes }: OpenBatch): void {
    const now = this.#parts.clock.monotonic();
    const writes: PendingWrite[] = [];
    const isLarge = pending === this.#pendingLarge;
    const attemptsMin = isLarge ? LARGE_WRITE_ATTEMPTS_MIN : 1;
    for (const { write } of outcomes) {
      write.attempts++;
      const isLate = now - write.queuedAt > ATTEMPTS_MS && write.attempts >= attemptsMin;
      if (write.attempts >= ATTEMPTS_MAX || isLate) {
        const text = `other servers changed the state first, ${write.attempts} times: try again later`;
        fail(write, new StateError('overloaded', text, { retryAfterSeconds: 1 }));
      }
      if (!write.settled) writes.push(write);
    }
    this.#nextBatch = undefined;
    pending.requeue(writes);
    if (isLarge && writes.length > 0) this.#reserveTurn();
  }

  /** Asks the other servers to commit nothing while a large write runs again [STATE-121]. */
  #reserveTurn(): void {
    this.#reservation ??= new AbortController();
    this.#parts.engine.reserve?.(this.#reservation.signal);
  }

  #releaseTurn(): void {
    this.#reservation?.abort();
    this.#reservation = undefined;
  }

  /** Handles an error of the engine, which rejected the batch or does not know its outcome. */
  #failBatch(batch: OpenBatch, error: unknown): void {
    const { engine, signal } = this.#parts;
    const { outcomes } = batch;
    if (isStateError(error, 'too-large') && outcomes.length > 1 && !signal.aborted) {
      this.#singleWriteBatches += outcomes.length;
      this.#retry(batch);
      return;
    }
    this.#nextBatch = undefined;
    const reason = isStateError(error, 'too-large')
      ? new StateError('too-large', `${error.message}; ${engine.limits.hint}`, { cause: error })
      : error;
    for (const { write } of outcomes) fail(write, reason);
  }

  /** Periodically fails writes whose time is over. The commit of a batch in flight continues. */
  #scheduleSweep(): void {
    this.#cancelSweep = this.#parts.clock.after(SWEEP_MS, () => {
      const now = this.#parts.clock.monotonic();
      for (const { write } of this.#inFlight?.outcomes ?? []) {
        if (now < write.expiresAt) continue;
        const text = 'the store has not answered in time: the write may or may not have been committed';
        fail(write, new StateError('outcome-unknown', text, { retryAfterSeconds: 5 }));
      }
      const changed = [this.#pending, this.#pendingLarge].filter((pending) => pending.failExpired(now));
      if (changed.includes(this.#pendingLarge)) this.#releaseTurn();
      if (changed.length > 0) {
        // The batch may contain writes that have just failed. One of the other queue is kept, because a large write would
        // have to start again.
        if (this.#nextBatch !== undefined && changed.includes(this.#nextBatch.pending)) this.#nextBatch = undefined;
        this.#scheduleNextBatch();
      }
      this.#scheduleSweep();
    });
  }
}

/** Whether a batch built on `a` can be committed on `b`. */
const isSameBase = (a: BatchBase, b: BatchBase): boolean =>
  a.epoch === b.epoch && a.index === b.index && a.tables === b.tables && a.formats === b.formats;
