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

/** Returns whether the directory exists now; false if a parent is missing. */
async function tryMakeDirectory(directory: string, mode: number): Promise<boolean> {
  try {
    await mkdir(directory, { mode }).catch(ignoreIfDirectory(directory));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return false;
  }
}

/**
 * Ignores an error of `mkdir` if the directory exists. The code of the error does not tell: a read-only file system
 * reports EROFS for existing directories as well.
 */
const ignoreIfDirectory =
  (directory: string) =>
  async (error: unknown): Promise<void> => {
    const existing = await stat(directory).catch(() => undefined);
    if (existing?.isDirectory() !== true) throw error;
  };
