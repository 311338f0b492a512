/** Measures the disk of this machine. */
import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';
import { percentile } from './figures.ts';

const SYNCS = 500;
const BLOCK_BYTES = 4096;

/** Returns the median time of an `fdatasync` after a write of 4 KiB in `directory`, in milliseconds. */
export function fdatasyncMs(directory: string): number {
  const file = path.join(directory, 'sync-probe');
  const handle = openSync(file, 'w');
  const block = Buffer.alloc(BLOCK_BYTES);
  const times: number[] = [];
  for (let i = 0; i < SYNCS; i++) {
    writeSync(handle, block);
    const start = performance.now();
    fdatasyncSync(handle);
    times.push(performance.now() - start);
  }
  closeSync(handle);
  rmSync(file);
  return percentile(times, 0.5);
}
