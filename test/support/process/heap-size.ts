/** Computes the memory that a heap needs, to check the sizes in the documents and in `deploy/`. */

export const MEBIBYTE = 2 ** 20;

/** V8's young generation in a small container: three spaces of 16 MiB. */
const YOUNG_BYTES = 48 * MEBIBYTE;
/** Code, buffers, and the cache of the database. A server without rows uses 150 MB, including 60 MB of heap. */
const OUTSIDE_HEAP_BYTES = 100 * MEBIBYTE;

/** Returns the heap limit that the option `--max-old-space-size=MIB` of Node.js results in. */
export function heapLimitBytes(options: string): number {
  const [, mebibytes] = /--max-old-space-size=(\d+)/.exec(options) ?? [];
  return Number(mebibytes) * MEBIBYTE + YOUNG_BYTES;
}

/** Whether a process with this heap limit fits a machine or a container with this memory. */
export const fitsMemory = (heapBytes: number, memoryBytes: number): boolean =>
  heapBytes + OUTSIDE_HEAP_BYTES <= memoryBytes;
