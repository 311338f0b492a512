/** Fills a batch with pending writes, in order, up to the limits of one commit. */

import type { Clock } from '../clock/clock.ts';
import { runSlice, type Steps } from '../clock/slices.ts';
import type { CommitLimits, Engine } from '../engine/engine.ts';
import { StateError } from '../errors.ts';
import { BATCH_BYTES_MAX, BATCH_CPU_MS, BATCH_OPERATIONS_MAX } from '../limits.ts';
import { type Admission, chargedBytes } from './admission.ts';
import { type Batch, createBatch } from './batch.ts';
import type { BatchBase } from './batch-changes.ts';
import { disconnectedError, fail, isDisconnected, type PendingWrite, type PendingWrites } from './pending-writes.ts';
import type { Transaction } from './transaction.ts';

/** The result of running a write. The write is settled with it once the batch is durable. */
export interface Outcome {
  readonly write: PendingWrite;
  readonly failed: boolean;
  readonly value: unknown;
}

/** A batch that accepts writes until it is sent to the engine. */
export interface OpenBatch {
  readonly base: BatchBase;
  /** The queue that the writes of the batch come from. */
  readonly pending: PendingWrites;
  batch: Batch;
  readonly outcomes: Outcome[];
  /** The number of pending writes that the batch covers. They stay in the queue until the batch is sent. */
  taken: number;
  /** Whether the next write does not fit. */
  isFull: boolean;
  /** The large write of the batch, which has paused. Until it has ended, the batch cannot be sent. */
  running: { readonly write: PendingWrite; readonly steps: Steps<unknown> } | undefined;
}

export interface BatchOptions {
  readonly engine: Pick<Engine, 'limits'>;
  readonly clock: Clock;
  readonly admission: Admission;
}

export function openBatch(base: BatchBase, pending: PendingWrites): OpenBatch {
  return { base, pending, batch: createBatch(base), outcomes: [], taken: 0, isFull: false, running: undefined };
}

/** The content of the batch before a write. */
type Before = Pick<Batch, 'rowsAdded' | 'rowBytesAdded' | 'bytes' | 'operationCount'>;

const NOTHING: Before = { rowsAdded: 0, rowBytesAdded: 0, bytes: 0, operationCount: 0 };

/** Runs the first pending write as the only one of the batch, for one slice. Then it has ended, or is `running`. */
export function runLargeWrite(open: OpenBatch, options: BatchOptions): void {
  const [write] = open.pending.writes;
  if (write === undefined) return;
  if (isDisconnected(write)) fail(write, disconnectedError());
  const outcome = write.settled ? undefined : runLargeSlice(open, write, options);
  if (outcome === undefined && !write.settled) return;
  open.running = undefined;
  open.taken = 1;
  open.isFull = true;
  const { batch } = open;
  // Undoing thousands of changes would take longer than a slice. The batch contains no other write.
  if (outcome === undefined || outcome.failed || write.dryRun) open.batch = createBatch(open.base);
  if (outcome === undefined) return;
  const refusal = outcome.failed ? undefined : largeWriteRefusal(write, batch, options);
  if (refusal !== undefined) open.batch = createBatch(open.base);
  open.outcomes.push(refusal ?? outcome);
}

function largeWriteRefusal(write: PendingWrite, batch: Batch, options: BatchOptions): Outcome | undefined {
  if (exceeds(batch, options.engine.limits)) return tooLarge(write, batch, options.engine.limits);
  const error = write.dryRun ? undefined : chargeCaller(write, batch, NOTHING, options);
  return error && { write, failed: true, value: error };
}

/** @returns the outcome, or `undefined` if the write has paused */
function runLargeSlice(open: OpenBatch, write: PendingWrite, options: BatchOptions): Outcome | undefined {
  const { batch } = open;
  try {
    const run = write.run as (tx: Transaction) => Steps<unknown>;
    const now = options.clock.now();
    open.running ??= { write, steps: batch.runInSlices(run, write.replayInputs, now) };
    const { done, value } = runSlice(open.running.steps);
    if (done !== true) return undefined;
    const error = capacityError(open, write, NOTHING, options);
    return error === undefined ? { write, failed: false, value } : { write, failed: true, value: error };
  } catch (error) {
    return { write, failed: true, value: error };
  }
}

/** Runs pending writes that the batch does not cover yet, for up to BATCH_CPU_MS. A `single` batch takes one write. */
export function fillBatch(open: OpenBatch, single: boolean, options: BatchOptions): void {
  const { clock } = options;
  const startedAt = clock.monotonic();
  const now = clock.now();
  const taken = open.taken;
  const pending = open.pending.writes;
  for (let write = pending[taken]; write !== undefined && !open.isFull; write = pending[open.taken]) {
    if (open.taken > taken && clock.monotonic() - startedAt >= BATCH_CPU_MS) return;
    if ((single && open.outcomes.length > 0) || !addWrite(open, write, now, options)) open.isFull = true;
    else open.taken++;
  }
}

/** Runs one write as part of the batch. @returns false if it does not fit */
function addWrite(open: OpenBatch, write: PendingWrite, now: number, options: BatchOptions): boolean {
  const { batch, outcomes } = open;
  const { limits } = options.engine;
  if (isDisconnected(write)) fail(write, disconnectedError());
  if (write.settled) return true;
  const { rowsAdded, rowBytesAdded, bytes, operationCount } = batch;
  const before: Before = { rowsAdded, rowBytesAdded, bytes, operationCount };
  // Estimates the size of the write by the average write of the batch, so that it does not run only to be undone.
  const estimated = outcomes.length > 0 ? operationCount + operationCount / outcomes.length : 0;
  if (estimated > sharedBatchLimits(limits).operationsMax) return false;
  const outcome = runWrite(open, write, before, now, options);
  if (operationCount > 0 && exceeds(batch, sharedBatchLimits(limits))) {
    batch.undo();
    return false;
  }
  if (exceeds(batch, limits)) {
    const rejected = tooLarge(write, batch, limits);
    batch.undo();
    outcomes.push(rejected);
    return true;
  }
  // Undone after the limit checks, so that a dry run fails where the write itself would.
  if (write.dryRun) batch.undo();
  const error = chargeCaller(write, batch, before, options);
  if (error !== undefined) batch.undo();
  outcomes.push(error === undefined ? outcome : { write, failed: true, value: error });
  return true;
}

function runWrite(open: OpenBatch, write: PendingWrite, before: Before, now: number, options: BatchOptions): Outcome {
  const { batch } = open;
  try {
    const value = batch.run(write.run, write.replayInputs, now);
    const error = capacityError(open, write, before, options);
    if (error === undefined) return { write, failed: false, value };
    batch.undo();
    return { write, failed: true, value: error };
  } catch (error) {
    return { write, failed: true, value: error };
  }
}

/** Takes what the write adds to the store from its caller's rate, but not what an earlier attempt took already. */
function chargeCaller(
  write: PendingWrite,
  batch: Batch,
  before: Before,
  { admission }: BatchOptions,
): StateError | undefined {
  const total = chargedBytes(batch.bytes - before.bytes, batch.operationCount - before.operationCount);
  const error = admission.takeBytes(write.caller, total - write.chargedBytes);
  if (error === undefined) write.chargedBytes = Math.max(write.chargedBytes, total);
  return error;
}

/** Returns the error of a write for which the state or a quota has no room, or `undefined` if they have. */
function capacityError(
  { base, batch }: OpenBatch,
  { caller, beyondRowsMax, isRemoval }: PendingWrite,
  before: Before,
  { admission }: BatchOptions,
): StateError | undefined {
  if (beyondRowsMax) return undefined;
  return admission.refuse({
    caller,
    isRemoval,
    rows: { total: base.rowCount + batch.rowsAdded, added: batch.rowsAdded - before.rowsAdded },
    bytes: { total: base.rowBytes + batch.rowBytesAdded, added: batch.rowBytesAdded - before.rowBytesAdded },
    countChanges: batch.countChanges,
    find: batch.find,
  });
}

type SizeLimits = Pick<CommitLimits, 'operationsMax' | 'bytesMax'>;

/** Returns the limits of a batch of several writes. A single write may be as large as the engine accepts. */
function sharedBatchLimits(limits: CommitLimits): SizeLimits {
  return {
    operationsMax: Math.min(limits.operationsMax, BATCH_OPERATIONS_MAX),
    bytesMax: Math.min(limits.bytesMax, BATCH_BYTES_MAX),
  };
}

const exceeds = (batch: Batch, { operationsMax, bytesMax }: SizeLimits): boolean =>
  batch.operationCount > operationsMax || batch.bytes > bytesMax;

function tooLarge(write: PendingWrite, batch: Batch, limits: CommitLimits): Outcome {
  const text = `the write is too large for one commit: ${batch.operationCount} operations and ${batch.bytes} bytes, the store takes ${limits.operationsMax} and ${limits.bytesMax}; ${limits.hint}`;
  return { write, failed: true, value: new StateError('too-large', text) };
}
