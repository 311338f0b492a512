/** Fills a batch with waiting writes, in their order, up to what one commit may hold. */

import type { Clock } from '../clock/clock.ts';
import type { CommitLimits, Engine } from '../engine/engine.ts';
import { StateError } from '../errors.ts';
import { BATCH_BYTES_MAX, BATCH_CPU_MS, BATCH_OPERATIONS_MAX } from '../limits.ts';
import { type Batch, type BatchBase, createBatch } from './batch.ts';
import { callerLeft, fail, isDisconnected, type PendingWrite } from './pending-writes.ts';

/** What a write came to, to be told once the batch is durable. */
export interface Outcome {
  readonly entry: PendingWrite;
  readonly failed: boolean;
  readonly value: unknown;
}

/** A batch that is being filled, or was and is at the engine. */
export interface OpenBatch {
  readonly base: BatchBase;
  readonly batch: Batch;
  readonly outcomes: Outcome[];
  /** How many waiting writes were looked at; they stay in line until the batch is sent. */
  taken: number;
  /** The next write has no room in it. */
  full: boolean;
}

export interface FillOptions {
  readonly engine: Pick<Engine, 'limits'>;
  readonly clock: Clock;
  readonly rowsMax: number;
  /** What sets it, and what to do, for whoever is refused. */
  readonly rowsMaxReason: string;
}

/** An empty batch on `base`. */
export function startFilling(base: BatchBase): OpenBatch {
  return { base, batch: createBatch(base), outcomes: [], taken: 0, full: false };
}

/** Runs writes that were not looked at yet, for up to BATCH_CPU_MS. `single`: one write fills the batch. */
export function fill(
  filling: OpenBatch,
  waiting: readonly PendingWrite[],
  single: boolean,
  options: FillOptions,
): void {
  const { clock } = options;
  const startedAt = clock.monotonic();
  const now = clock.now();
  const taken = filling.taken;
  for (let entry = waiting[taken]; entry !== undefined && !filling.full; entry = waiting[filling.taken]) {
    if (filling.taken > taken && clock.monotonic() - startedAt >= BATCH_CPU_MS) return;
    if ((single && filling.outcomes.length > 0) || !add(filling, entry, now, options)) filling.full = true;
    else filling.taken++;
  }
}

/** Runs one write as part of the batch. @returns false when the batch has no room for it */
function add(filling: OpenBatch, entry: PendingWrite, now: number, options: FillOptions): boolean {
  const { batch, outcomes } = filling;
  const { limits } = options.engine;
  if (isDisconnected(entry)) fail(entry, callerLeft());
  if (entry.settled) return true;
  const others = batch.operationCount;
  // One that is like those before it would not fit: it is not run only to be taken back.
  if (outcomes.length > 0 && others + others / outcomes.length > batchMax(limits).operationsMax) return false;
  const outcome = attempt(filling, entry, now, options);
  if (others > 0 && exceeds(batch, batchMax(limits))) {
    batch.undo();
    return false;
  }
  if (exceeds(batch, limits)) {
    const error = new StateError('too-large', tooLargeText(batch, limits));
    batch.undo();
    outcomes.push({ entry, failed: true, value: error });
  } else {
    // Only now: it tells whether the write would have been taken.
    if (entry.dryRun) batch.undo();
    outcomes.push(outcome);
  }
  return true;
}

function attempt({ base, batch }: OpenBatch, entry: PendingWrite, now: number, options: FillOptions): Outcome {
  try {
    const value = batch.run(entry.fn, entry.fixed, now);
    const { rowsMax, rowsMaxReason } = options;
    const fits = batch.rowsAdded <= 0 || base.rowCount + batch.rowsAdded <= rowsMax;
    if (fits || entry.beyondRowsMax) return { entry, failed: false, value };
    batch.undo();
    const text = `the state holds ${base.rowCount} rows, ${rowsMaxReason}`;
    return { entry, failed: true, value: new StateError('rows-max', text) };
  } catch (error) {
    return { entry, failed: true, value: error };
  }
}

type BatchMax = Pick<CommitLimits, 'operationsMax' | 'bytesMax'>;

/** What writes may fill a batch up to; one write alone may be as large as the engine takes. */
function batchMax(limits: CommitLimits): BatchMax {
  return {
    operationsMax: Math.min(limits.operationsMax, BATCH_OPERATIONS_MAX),
    bytesMax: Math.min(limits.bytesMax, BATCH_BYTES_MAX),
  };
}

const exceeds = (batch: Batch, { operationsMax, bytesMax }: BatchMax): boolean =>
  batch.operationCount > operationsMax || batch.bytes > bytesMax;

function tooLargeText(batch: Batch, limits: CommitLimits): string {
  return `the write is too large for one commit: ${batch.operationCount} operations and ${batch.bytes} bytes, the store takes ${limits.operationsMax} and ${limits.bytesMax}; ${limits.hint}`;
}
