/** What memory a heap takes, for what the documents and the files of deploy/ promise. */

export const MEBIBYTE = 2 ** 20;

/** What V8 adds for new objects in a small container: three spaces of 16 MiB. */
const YOUNG_BYTES = 48 * MEBIBYTE;
/** Code, buffers, the database's cache: a server without rows takes 150 MB, of which 60 are heap. */
const OUTSIDE_HEAP_BYTES = 100 * MEBIBYTE;

/** The limit of the heap with `--max-old-space-size=MIB` among the options of Node.js. */
export function heapLimitBytes(options: string): number {
  const [, mebibytes] = /--max-old-space-size=(\d+)/.exec(options) ?? [];
  return Number(mebibytes) * MEBIBYTE + YOUNG_BYTES;
}

/** Whether a machine or a container has room for a process with that heap. */
export const fitsMemory = (heapBytes: number, memoryBytes: number): boolean =>
  heapBytes + OUTSIDE_HEAP_BYTES <= memoryBytes;
