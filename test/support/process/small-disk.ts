/** A disk of a few MiB that a test can fill. It requires Linux and root. */
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';
import { temporaryDirectory } from '../temporary-directory.ts';

export interface SmallDisk extends AsyncDisposable {
  readonly path: string;
  /** Fills the disk to the last byte. */
  fill(): void;
  /** Deletes the data that `fill` wrote. */
  free(): void;
}

/** The `skip` option of a test: `false`, or the reason to skip it. */
export const skipWithoutMount: string | false =
  (process.platform !== 'linux' || process.getuid?.() !== 0) && 'only root can mount a small disk';

export async function mountSmallDisk(mebibytes: number): Promise<SmallDisk> {
  await using stack = new AsyncDisposableStack();
  const directory = stack.use(await temporaryDirectory()).path;
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'accord-test', directory]);
  // A lazy unmount succeeds while a killed process still has files open.
  stack.defer(() => void execFileSync('umount', ['--lazy', directory]));
  const filler = path.join(directory, 'filler');
  const owned = stack.move();
  return {
    path: directory,
    fill() {
      const file = openSync(filler, 'a');
      // Smaller and smaller pieces fill the disk to the last byte.
      for (let size = 64 * 1024; size > 0; size >>= 1) writeUntilFull(file, Buffer.alloc(size));
      closeSync(file);
    },
    free: () => rmSync(filler, { force: true }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function writeUntilFull(file: number, piece: Buffer): void {
  try {
    while (writeSync(file, piece) === piece.length);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}
