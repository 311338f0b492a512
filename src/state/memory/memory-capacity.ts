/** The memory that the rows of the state may take, in bytes as `row-size.ts` estimates them [STATE-113]. */
export interface MemoryCapacity {
  /** Above it, writes that add rows or make them larger fail with `rows-max`. */
  readonly bytesMax: number;
  /** Above it, a load fails with `memory-full`. */
  readonly loadBytesMax: number;
  /** The end of the error messages: what limits the memory, and the remedy. */
  readonly reason: string;
}

/** For states whose process has memory for every row, such as tests. */
export const UNLIMITED_MEMORY: MemoryCapacity = {
  bytesMax: Number.POSITIVE_INFINITY,
  loadBytesMax: Number.POSITIVE_INFINITY,
  reason: '',
};
