/**
 * Writes put together into batches, one batch at the engine at a time.
 *
 * Every outcome of a batch (value, refusal, no-op) is held until the batch is durable: a refusal describes rows that
 * could still not come to be. A conflict throws all outcomes away and runs the writes again on what the other node made.
 *
 * While the engine commits a batch, the next one is built on what that batch will have made. It is sent only if exactly
 * that came to be; otherwise it is dropped, and its writes, which never left the line, are run again. Nobody else sees
 * the trees of either before the engine has delivered the commit.
 */

import type { Clock } from '../clock/clock.ts';
import { nextTurn } from '../clock/next-turn.ts';
import type { Engine } from '../engine/engine.ts';
import { isStateError, StateError } from '../errors.ts';
import { ATTEMPTS_MAX, ATTEMPTS_MS, WRITE_BYTES_DEFAULT, WRITE_MS_MAX } from '../limits.ts';
import type { Memory } from '../memory/committed-state.ts';
import type { BatchBase } from './batch.ts';
import { fill, type OpenBatch, type Outcome, startFilling } from './open-batch.ts';
import { createWaitingWrites, fail, isDisconnected, type Left, type PendingWrite } from './pending-writes.ts';
import type { Transaction } from './transaction.ts';

/** What a caller may say about a write. */
export interface WriteOptions {
  /** Drops the write if it is aborted before the write was started. */
  readonly signal?: Left;
  /** Roughly what the closure holds, for the bound on waiting writes. */
  readonly bytes?: number;
  /** Does everything but keep it: what the function returns or throws is what the write would have come to. */
  readonly dryRun?: boolean;
  /** Made also where the state is full: for what the server cannot do without, such as new first credentials. */
  readonly beyondRowsMax?: boolean;
}

export interface WriteQueueParts {
  readonly engine: Engine;
  readonly memory: Memory;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** What the next batch is built on when none is at the engine. */
  readonly base: () => BatchBase;
  readonly rowsMax: number;
  readonly rowsMaxReason: string;
  /** Whether the state holds everything that was delivered; false while it is loaded again. */
  readonly loaded: () => boolean;
  /** Resolves when the state is loaded and holds at least `index`. */
  readonly caughtUp: (index: number) => Promise<void>;
}

/** How the engine answered; `index` is what this node must have reached before it tries again. */
type Verdict = 'committed' | { readonly index: number };

/** A batch at the engine. */
interface Sent extends OpenBatch {
  readonly verdict: Promise<Verdict>;
}

/** How often waiting writes are looked through for callers whose time is over. */
const SWEEP_MS = 500;

export class WriteQueue {
  readonly #parts: WriteQueueParts;
  readonly #waiting = createWaitingWrites();
  #inFlight: OpenBatch | undefined;
  /** Built on what `#inFlight` will have made. */
  #ahead: OpenBatch | undefined;
  #aheadScheduled = false;
  #running = false;
  #cancelSweep: (() => void) | undefined;
  /** So many batches are of one write each: their sum was more than the store takes, though it looked smaller. */
  #single = 0;

  constructor(parts: WriteQueueParts) {
    this.#parts = parts;
  }

  /** The batch that the engine is committing. */
  get inFlight(): OpenBatch | undefined {
    return this.#inFlight;
  }

  /** Queues a write. @throws StateError, see `State.write` */
  write<T>(
    fn: (tx: Transaction) => T,
    { signal, bytes = WRITE_BYTES_DEFAULT, dryRun = false, beyondRowsMax = false }: WriteOptions = {},
  ): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const queuedAt = this.#parts.clock.monotonic();
      const fixed = { now: undefined, values: [] };
      const settle = resolve as (value: unknown) => void;
      const told = { settled: false, resolve: settle, reject };
      this.#waiting.add({ fn, fixed, signal, bytes, dryRun, beyondRowsMax, queuedAt, attempts: 0, ...told });
      this.wake();
    });
  }

  /** Starts the loop if there is something to do: writes, or orphans to drop. */
  wake(): void {
    if (this.#running) {
      this.#buildAheadSoon();
    } else if (this.#waiting.length > 0 || this.#parts.memory.draining) {
      this.#running = true;
      // In a turn of its own, so that writes that arrive together become one batch.
      setImmediate(() => void this.#run());
    }
  }

  async #run(): Promise<void> {
    const { memory, signal } = this.#parts;
    this.#sweepLater();
    try {
      let sent: Sent | undefined;
      while (sent !== undefined || this.#waiting.length > 0 || memory.draining) {
        sent = await (sent === undefined ? this.#begin() : this.#end(sent));
      }
    } catch (error) {
      this.#ahead = undefined;
      this.#waiting.failAll(error);
    } finally {
      this.#running = false;
      this.#cancelSweep?.();
      this.#cancelSweep = undefined;
    }
    // Orphans would wake it for ever in a state that is closed.
    if (!signal.aborted) this.wake();
  }

  /** Sends a batch once the state is loaded. */
  async #begin(): Promise<Sent | undefined> {
    const { memory, signal } = this.#parts;
    if (signal.aborted) throw new StateError('aborted', 'the server is stopping');
    await this.#parts.caughtUp(0);
    if (memory.draining) memory.drainSlice();
    if (this.#waiting.length > 0) return this.#send();
    await nextTurn();
    return undefined;
  }

  /** Waits for the engine's verdict and tells the outcomes. @returns the next batch, if it could be sent at once */
  async #end(sent: Sent): Promise<Sent | undefined> {
    const { loaded, caughtUp, memory, signal } = this.#parts;
    const { base, batch, outcomes } = sent;
    let next: Sent | undefined;
    try {
      const verdict = await sent.verdict;
      if (verdict !== 'committed') {
        // Known not to be made: a caller whose time runs out while this node catches up is told so.
        this.#inFlight = undefined;
        this.#again(outcomes);
        await caughtUp(verdict.index);
        return undefined;
      }
      // A commit that was made while the state is loaded again becomes visible with the load.
      if (batch.operationCount > 0 && memory.snapshot.index <= base.index) await caughtUp(base.index + 1);
    } catch (error) {
      this.#inFlight = undefined;
      this.#fail(outcomes, error);
      return undefined;
    }
    this.#inFlight = undefined;
    // Before anybody is told: the engine works while the answers are written.
    if (this.#waiting.length > 0 && loaded() && !memory.draining && !signal.aborted) next = this.#send();
    for (const { entry, failed, value } of outcomes) {
      if (entry.settled) continue;
      entry.settled = true;
      if (failed) entry.reject(value);
      else entry.resolve(value);
    }
    return next;
  }

  /** Hands the engine what was built ahead if it fits what, and who, is there now; a new batch otherwise. */
  #send(): Sent | undefined {
    const base = this.#parts.base();
    const built = this.#ahead;
    this.#ahead = undefined;
    const isGood =
      built !== undefined && isSame(built.base, base) && !built.outcomes.some(({ entry }) => isDisconnected(entry));
    const filling = isGood ? built : startFilling(base);
    fill(filling, this.#waiting.entries, this.#single > 0, this.#parts);
    this.#waiting.take(filling.taken);
    if (filling.outcomes.length === 0) return undefined;
    if (this.#single > 0) this.#single--;
    this.#inFlight = filling;
    this.#buildAheadSoon();
    return { ...filling, verdict: this.#commit(filling) };
  }

  /** Proves or makes the batch. */
  async #commit({ batch, base }: OpenBatch): Promise<Verdict> {
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

  #buildAheadSoon(): void {
    const idle = this.#inFlight === undefined || this.#ahead?.full || this.#parts.signal.aborted;
    if (idle || this.#aheadScheduled || this.#waiting.length === (this.#ahead?.taken ?? 0)) return;
    this.#aheadScheduled = true;
    setImmediate(() => {
      this.#aheadScheduled = false;
      this.#buildAhead();
    });
  }

  #buildAhead(): void {
    if (this.#inFlight === undefined) return;
    const base = this.#inFlight.batch.after();
    // Slices of dropped orphans come between this batch and the next.
    if (base.ownersInDoubt) return;
    this.#ahead ??= startFilling(base);
    fill(this.#ahead, this.#waiting.entries, this.#single > 0, this.#parts);
    this.#buildAheadSoon();
  }

  /** Puts writes of a batch that is known not to be made in front again, except those that were tried often enough. */
  #again(outcomes: readonly Outcome[]): void {
    const now = this.#parts.clock.monotonic();
    const again: PendingWrite[] = [];
    for (const { entry } of outcomes) {
      entry.attempts++;
      if (entry.attempts >= ATTEMPTS_MAX || now - entry.queuedAt > ATTEMPTS_MS) {
        const text = `other servers changed the state first, ${entry.attempts} times: try again later`;
        fail(entry, new StateError('overloaded', text, { retryAfterSeconds: 1 }));
      }
      if (!entry.settled) again.push(entry);
    }
    this.#ahead = undefined;
    this.#waiting.putBack(again);
  }

  /** The engine refused the batch, or does not tell what became of it. */
  #fail(outcomes: readonly Outcome[], error: unknown): void {
    const { engine, signal } = this.#parts;
    if (isStateError(error, 'too-large') && outcomes.length > 1 && !signal.aborted) {
      this.#single += outcomes.length;
      this.#again(outcomes);
      return;
    }
    this.#ahead = undefined;
    const reason = isStateError(error, 'too-large')
      ? new StateError('too-large', `${error.message}; ${engine.limits.hint}`, { cause: error })
      : error;
    for (const { entry } of outcomes) fail(entry, reason);
  }

  /** Answers callers whose time is over; the writes of a batch at the engine go on without them. */
  #sweepLater(): void {
    this.#cancelSweep = this.#parts.clock.after(SWEEP_MS, () => {
      const now = this.#parts.clock.monotonic();
      for (const { entry } of this.#inFlight?.outcomes ?? []) {
        if (now - entry.queuedAt < WRITE_MS_MAX) continue;
        const text = 'the store has not answered in time: whether the write was made is unknown';
        fail(entry, new StateError('outcome-unknown', text, { retryAfterSeconds: 5 }));
      }
      if (this.#waiting.sweep(now)) {
        // Some of what it holds was told not to be made.
        this.#ahead = undefined;
        this.#buildAheadSoon();
      }
      this.#sweepLater();
    });
  }
}

/** Whether a batch on `a` can be committed on `b`. */
const isSame = (a: BatchBase, b: BatchBase): boolean =>
  a.epoch === b.epoch && a.index === b.index && a.trees === b.trees && a.format === b.format;
