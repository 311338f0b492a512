import { mkdir, stat } from 'node:fs/promises';
import path from 'node:path';

/**
 * Makes a directory, and those above it, unless it is there. Not with Node's own `recursive`: where a parent is there and
 * the system denies all the same that it is, as in `/proc`, that tries again for ever.
 * @throws Error of the system
 */
export async function makeDirectory(directory: string, mode: number): Promise<void> {
  if (await isMade(directory, mode)) return;
  const parent = path.dirname(directory);
  if (parent !== directory) await makeDirectory(parent, mode);
  await mkdir(directory, { mode }).catch(unlessThere(directory));
}

/** Whether it is there now; otherwise one above it is missing. */
async function isMade(directory: string, mode: number): Promise<boolean> {
  try {
    await mkdir(directory, { mode }).catch(unlessThere(directory));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return false;
  }
}

/** Another process may have made it; a read-only file system says so of what is there, too. */
const unlessThere =
  (directory: string) =>
  async (error: unknown): Promise<void> => {
    const found = await stat(directory).catch(() => undefined);
    if (found?.isDirectory() !== true) throw error;
  };
