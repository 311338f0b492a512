/**
 * Remembers the highest index that this server has returned, in its own data directory [STATE-118].
 *
 * While servers run, they notice that etcd was restored from an older snapshot, and start an epoch with higher indexes.
 * If all of them were stopped during the restore, only this file shows that clients have seen higher ones.
 */
import { open, readFile, rename } from 'node:fs/promises';
import path from 'node:path';
import type { Log } from '../http/telemetry/log.ts';
import type { Clock } from '../state/clock/clock.ts';
import type { Head } from '../state/engine/engine.ts';
import { makeDirectory } from '../state/make-directory.ts';
import { INDEX_FLOOR_MS } from './limits.ts';

const FILE = 'index-floor.json';
const DIRECTORY_MODE = 0o700;

/** Returns the remembered head, or `undefined`. A damaged file is logged and ignored. */
export async function readIndexFloor(directory: string, log: Log): Promise<Head | undefined> {
  const file = path.join(directory, FILE);
  try {
    const { cluster, epoch, index }: Partial<Head> = JSON.parse(await readFile(file, 'utf8'));
    if (typeof cluster === 'string' && Number.isSafeInteger(epoch) && Number.isSafeInteger(index)) {
      return { cluster, epoch: epoch as number, index: index as number };
    }
    log.warn({ file }, 'index floor is unreadable');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') log.warn({ file, error }, 'index floor is unreadable');
  }
  return undefined;
}

export interface IndexFloorOptions {
  readonly directory: string;
  /** The state, whose snapshot has the highest index that this server can have returned. */
  readonly state: { readonly snapshot: Head };
  readonly clock: Clock;
  readonly log: Log;
}

/** Writes the head of the state every second if it has changed, and once more when it is disposed. */
export function keepIndexFloor({ directory, state, clock, log }: IndexFloorOptions): AsyncDisposable {
  let written = 0;
  let failing = false;
  let writing = Promise.resolve();

  const write = async (): Promise<void> => {
    const { cluster, epoch, index } = state.snapshot;
    if (cluster === '' || index === written) return;
    try {
      await replaceFile(directory, JSON.stringify({ cluster, epoch, index }));
      written = index;
      failing = false;
    } catch (error) {
      if (!failing) log.warn({ error }, 'index floor not written');
      failing = true;
    }
  };
  const schedule = (): (() => void) =>
    clock.after(INDEX_FLOOR_MS, () => {
      // After the write before, which takes longer than the interval on a slow disk and uses the same temporary file.
      writing = writing.then(write);
      cancel = schedule();
    });
  let cancel = schedule();

  return {
    async [Symbol.asyncDispose]() {
      cancel();
      await writing;
      await write();
    },
  };
}

/** Replaces the file at once, so that a cut write leaves the previous content. */
async function replaceFile(directory: string, content: string): Promise<void> {
  await makeDirectory(directory, DIRECTORY_MODE);
  const file = path.join(directory, FILE);
  await using handle = await open(`${file}.tmp`, 'w');
  await handle.writeFile(content);
  await handle.sync();
  await rename(`${file}.tmp`, file);
}
