/** A disk of a few MiB, so that a test can fill it. Needs root on Linux. */
import { execFileSync } from 'node:child_process';
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import path from 'node:path';
import { temporaryDirectory } from '../temporary-directory.ts';

export interface SmallDisk extends AsyncDisposable {
  readonly path: string;
  /** Writes until nothing more fits. */
  fill(): void;
  /** Makes room again. */
  free(): void;
}

/** For the `skip` option of a test: `false`, or why it cannot run here. */
export const skipWithoutMounts: string | false =
  (process.platform !== 'linux' || process.getuid?.() !== 0) && 'only root can mount a small disk';

/** Mounts one. */
export async function smallDisk(mebibytes: number): Promise<SmallDisk> {
  await using stack = new AsyncDisposableStack();
  const directory = stack.use(await temporaryDirectory()).path;
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${mebibytes}m`, 'accord-test', directory]);
  // Lazily: what a process that is being killed still holds open does not matter.
  stack.defer(() => void execFileSync('umount', ['--lazy', directory]));
  const filler = path.join(directory, 'filler');
  const owned = stack.move();
  return {
    path: directory,
    fill() {
      const file = openSync(filler, 'a');
      // Ever smaller pieces: the last bytes count, too.
      for (let size = 64 * 1024; size > 0; size >>= 1) writeWhileRoom(file, Buffer.alloc(size));
      closeSync(file);
    },
    free: () => rmSync(filler, { force: true }),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function writeWhileRoom(file: number, piece: Buffer): void {
  try {
    while (writeSync(file, piece) === piece.length);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  }
}
