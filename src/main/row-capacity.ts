/**
 * Limits the number of rows by the memory of the process. The whole state is in V8's heap. A process that reaches the
 * heap limit crashes, and crashes again at every start, because loading the same rows needs the same memory. So the
 * limit on rows is the lower of `state.rows-max` and the number of rows that fit into the heap.
 *
 * The limit is an estimate instead of the heap's current size, because that size includes garbage and is exact only
 * after a full collection. One large response at the wrong time would reject writes until the next collection.
 */
import { HEAP_BASE_BYTES, HEAP_SHARE_MAX, ROW_BYTES, ROWS_MIN } from './limits.ts';

export interface RowCapacity {
  /** Number of rows above which the state rejects writes that add rows. */
  readonly rows: number;
  /** Where the limit comes from and what to do, for errors and the log. */
  readonly reason: string;
  /** Whether the heap sets the limit, and not the setting. */
  readonly isLimitedByHeap: boolean;
}

/** Returns how many rows of common size fit into a heap with this limit. */
export const rowsThatFitHeap = (heapLimitBytes: number): number =>
  Math.max(ROWS_MIN, Math.floor((heapLimitBytes * HEAP_SHARE_MAX - HEAP_BASE_BYTES) / ROW_BYTES));

export function rowCapacity(setting: number, heapLimitBytes: number): RowCapacity {
  const fitting = rowsThatFitHeap(heapLimitBytes);
  if (setting <= fitting) {
    return { rows: setting, reason: `state.rows-max is ${setting}: remove rows or raise it`, isLimitedByHeap: false };
  }
  const heap = `the heap of ${Math.round(heapLimitBytes / MEBIBYTE)} MiB holds about ${fitting}, less than state.rows-max (${setting})`;
  const remedy = 'remove rows, or give the server more memory (NODE_OPTIONS=--max-old-space-size=…, in MiB)';
  return { rows: fitting, reason: `${heap}: ${remedy}`, isLimitedByHeap: true };
}

const MEBIBYTE = 2 ** 20;
