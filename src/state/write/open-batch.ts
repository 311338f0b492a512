/** Fills a batch with pending writes, in order, up to the limits of one commit. */

import type { Clock } from '../clock/clock.ts';
import type { CommitLimits, Engine } from '../engine/engine.ts';
import { StateError } from '../errors.ts';
import { BATCH_BYTES_MAX, BATCH_CPU_MS, BATCH_OPERATIONS_MAX, GROWTH_RESERVE_SHARE } from '../limits.ts';
import type { MemoryCapacity } from '../memory/memory-capacity.ts';
import { type Batch, createBatch } from './batch.ts';
import type { BatchBase } from './batch-changes.ts';
import { disconnectedError, fail, isDisconnected, type PendingWrite } from './pending-writes.ts';

/** The result of running a write. The write is settled with it once the batch is durable. */
export interface Outcome {
  readonly write: PendingWrite;
  readonly failed: boolean;
  readonly value: unknown;
}

/** A batch that accepts writes until it is sent to the engine. */
export interface OpenBatch {
  readonly base: BatchBase;
  readonly batch: Batch;
  readonly outcomes: Outcome[];
  /** The number of pending writes that the batch covers. They stay in the queue until the batch is sent. */
  taken: number;
  /** Whether the next write does not fit. */
  isFull: boolean;
}

export interface BatchOptions {
  readonly engine: Pick<Engine, 'limits'>;
  readonly clock: Clock;
  readonly rowsMax: number;
  readonly rowsMaxReason: string;
  readonly memory: MemoryCapacity;
}

export function openBatch(base: BatchBase): OpenBatch {
  return { base, batch: createBatch(base), outcomes: [], taken: 0, isFull: false };
}

/** Runs pending writes that the batch does not cover yet, for up to BATCH_CPU_MS. A `single` batch takes one write. */
export function fillBatch(
  open: OpenBatch,
  pending: readonly PendingWrite[],
  single: boolean,
  options: BatchOptions,
): void {
  const { clock } = options;
  const startedAt = clock.monotonic();
  const now = clock.now();
  const taken = open.taken;
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
  const others = batch.operationCount;
  // Estimates the size of the write by the average write of the batch, so that it does not run only to be undone.
  if (outcomes.length > 0 && others + others / outcomes.length > sharedBatchLimits(limits).operationsMax) return false;
  const outcome = runWrite(open, write, now, options);
  if (others > 0 && exceeds(batch, sharedBatchLimits(limits))) {
    batch.undo();
    return false;
  }
  if (exceeds(batch, limits)) {
    const error = new StateError('too-large', tooLargeText(batch, limits));
    batch.undo();
    outcomes.push({ write, failed: true, value: error });
  } else {
    // Undone after the limit checks, so that a dry run fails where the write itself would.
    if (write.dryRun) batch.undo();
    outcomes.push(outcome);
  }
  return true;
}

function runWrite({ base, batch }: OpenBatch, write: PendingWrite, now: number, options: BatchOptions): Outcome {
  const before = { rowsAdded: batch.rowsAdded, rowBytesAdded: batch.rowBytesAdded };
  try {
    const value = batch.run(write.run, write.replayInputs, now);
    const refusal = write.beyondRowsMax ? undefined : capacityRefusal(base, batch, before, options);
    if (refusal === undefined) return { write, failed: false, value };
    batch.undo();
    return { write, failed: true, value: new StateError('rows-max', refusal) };
  } catch (error) {
    return { write, failed: true, value: error };
  }
}

/** Returns why the state has no room for what the last write added, or `undefined` if it has. See [STATE-52]. */
function capacityRefusal(
  base: BatchBase,
  batch: Batch,
  before: Pick<Batch, 'rowsAdded' | 'rowBytesAdded'>,
  { rowsMax, rowsMaxReason, memory }: BatchOptions,
): string | undefined {
  const addsRows = batch.rowsAdded > before.rowsAdded;
  if (addsRows && base.rowCount + batch.rowsAdded > rowsMax) {
    return `the state holds ${base.rowCount} rows, ${rowsMaxReason}`;
  }
  const bytesMax = addsRows ? memory.bytesMax : memory.bytesMax * (1 + GROWTH_RESERVE_SHARE);
  if (batch.rowBytesAdded > before.rowBytesAdded && base.rowBytes + batch.rowBytesAdded > bytesMax) {
    return `the rows of the state take ${mebibytes(base.rowBytes)} of ${mebibytes(memory.bytesMax)} MiB of memory: ${memory.reason}`;
  }
  return undefined;
}

const mebibytes = (bytes: number): number => Math.round(bytes / 2 ** 20);

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

function tooLargeText(batch: Batch, limits: CommitLimits): string {
  return `the write is too large for one commit: ${batch.operationCount} operations and ${batch.bytes} bytes, the store takes ${limits.operationsMax} and ${limits.bytesMax}; ${limits.hint}`;
}
