/** Measures the memory of processes through /proc. */
import { readFileSync } from 'node:fs';

/** Returns the resident memory of a process in bytes, including garbage. */
export function residentBytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) * 1_024;
}

/** The arguments with which Node.js must be started for `retainedBytes`. */
export const GC_ON_SIGNAL_ARGUMENTS: readonly string[] = [
  '--expose-gc',
  '--import',
  import.meta.resolve('./collect-garbage.ts'),
];

/** The time for a garbage collection, and for the release of memory to the system. */
const SETTLE_MS = 3_000;

/**
 * Returns the resident bytes of processes after a garbage collection. They must run with GC_ON_SIGNAL_ARGUMENTS.
 * Garbage is excluded because its amount depends on the work done, not on the data in memory.
 */
export async function retainedBytes(pids: readonly number[]): Promise<number[]> {
  for (const pid of pids) process.kill(pid, 'SIGUSR2');
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
  return pids.map(residentBytes);
}
