/** Measures the memory of processes through /proc. */
import { readFileSync } from 'node:fs';

/** Returns the resident memory of a process in bytes, including garbage. */
export function residentBytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) * 1_024;
}

/** Arguments for Node.js with which a process can be measured by `heldBytes`. */
export const GC_ON_SIGNAL_ARGUMENTS: readonly string[] = [
  '--expose-gc',
  '--import',
  import.meta.resolve('./collect-garbage.ts'),
];

/** The time for a garbage collection, and for the release of memory to the system. */
const SETTLE_MS = 3_000;

/**
 * The resident bytes of processes that were started with MEASURABLE, without what V8 has not collected yet: how much that
 * is depends on how much was done, not on how much is held.
 */
export async function retainedBytes(pids: readonly number[]): Promise<number[]> {
  for (const pid of pids) process.kill(pid, 'SIGUSR2');
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  return pids.map(residentBytes);
}
