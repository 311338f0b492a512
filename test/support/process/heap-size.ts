/** Computes the memory that a heap needs, to check the sizes in the documents and in `deploy/`. */
import { missingHeapOptions } from '../../../src/main/heap-limit.ts';

export const MEBIBYTE = 2 ** 20;

/** The estimated memory of an ACL token with one grant. */
export const TOKEN_BYTES = 770;

/** V8's young generation by default, and as a server in a small container sets it. */
const YOUNG_BYTES = 96 * MEBIBYTE;
const YOUNG_BYTES_MIN = 3 * MEBIBYTE;

/** Returns the limit of the old generation that the option `--max-old-space-size=MIB` of Node.js sets. */
export function oldSpaceBytes(options: string): number {
  const [, mebibytes] = /--max-old-space-size=(\d+)/.exec(options) ?? [];
  return Number(mebibytes) * MEBIBYTE;
}

/** Whether a server with this heap stays within a machine or a container with this memory. */
export function fitsMemory(oldSpace: number, memoryBytes: number): boolean {
  const options = [`--max-old-space-size=${oldSpace / MEBIBYTE}`];
  const isSmall = missingHeapOptions({ heapSizeLimit: oldSpace + YOUNG_BYTES, options, memoryBytes }) !== undefined;
  const young = isSmall ? YOUNG_BYTES_MIN : YOUNG_BYTES;
  return missingHeapOptions({ heapSizeLimit: oldSpace + young, options: [], memoryBytes }) === undefined;
}
