/**
 * How many rows the process has memory for. The whole state is in the heap of V8, whose limit follows from the machine or
 * the container (half of a small one) unless somebody sets it, and reaching it is the death of the process: at the next
 * start, too, since loading the same rows needs the same room. So the limit on rows is the lower of the two.
 *
 * Why an estimate, and not the heap's own figure: that one counts what nobody needs any more, and is true only right after
 * a full collection, which nothing brings about while writes are refused; one long answer at the wrong time would have
 * them refused for as long as the server is idle.
 */
import { HEAP_BASE_BYTES, HEAP_SHARE_MAX, ROW_BYTES, ROWS_MIN } from './limits.ts';

export interface RowsMax {
  /** Rows above which writes that add some are refused. */
  readonly rows: number;
  /** What sets it, and what to do: for who is refused, and for the log. */
  readonly reason: string;
  /** The heap sets it, not the setting. */
  readonly byHeap: boolean;
}

/** Rows of common size that a heap holds which may grow to so many bytes. */
export const rowsThatFit = (heapLimitBytes: number): number =>
  Math.max(ROWS_MIN, Math.floor((heapLimitBytes * HEAP_SHARE_MAX - HEAP_BASE_BYTES) / ROW_BYTES));

/** The lower of `state.rows-max` and what the heap holds. */
export function rowsMaxOf(setting: number, heapLimitBytes: number): RowsMax {
  const fitting = rowsThatFit(heapLimitBytes);
  if (setting <= fitting) {
    return { rows: setting, reason: `state.rows-max is ${setting}: remove rows or raise it`, byHeap: false };
  }
  const heap = `the heap of ${Math.round(heapLimitBytes / MEBIBYTE)} MiB holds about ${fitting}, less than state.rows-max (${setting})`;
  const mend = 'remove rows, or give the server more memory (NODE_OPTIONS=--max-old-space-size=…, in MiB)';
  return { rows: fitting, reason: `${heap}: ${mend}`, byHeap: true };
}

const MEBIBYTE = 2 ** 20;
