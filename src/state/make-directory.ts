import { mkdir, stat } from 'node:fs/promises';
import path from 'node:path';

/**
 * Creates a directory and its missing parents. Succeeds if the directory exists.
 *
 * Node's `recursive` option is not used because it retries forever where a parent exists and the system reports it as
 * missing, as in `/proc`.
 * @throws Error of the system
 */
export async function makeDirectory(directory: string, mode: number): Promise<void> {
  if (await tryMakeDirectory(directory, mode)) return;
  const parent = path.dirname(directory);
  if (parent !== directory) await makeDirectory(parent, mode);
  await mkdir(directory, { mode }).catch(ignoreIfDirectory(directory));
}

/** Creates one directory. @returns whether it exists now; false if its parent is missing */
async function tryMakeDirectory(directory: string, mode: number): Promise<boolean> {
  try {
    await mkdir(directory, { mode }).catch(ignoreIfDirectory(directory));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return false;
  }
}

/** Ignores a `mkdir` error if the directory exists. Checks no code, because read-only file systems report EROFS. */
const ignoreIfDirectory =
  (directory: string) =>
  async (error: unknown): Promise<void> => {
    const existing = await stat(directory).catch(() => undefined);
    if (existing?.isDirectory() !== true) throw error;
  };
