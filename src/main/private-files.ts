/** What lies in the data directory is for the server's own user: keys and secrets may be in it in clear. */
import { chmod, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Log } from '../http/telemetry/log.ts';
import { OTHERS } from './limits.ts';

/** Of the SQLite engine: the database, and what it and SQLite keep beside it. */
const isOfDatabase = (name: string): boolean => /^accord\.db(-wal|-shm|-journal|\.pid)?$/.test(name);

/**
 * Takes the files of the database from everybody but their owner: earlier versions left that to the directory. Before
 * the database is opened, since SQLite gives the files beside it the mode of the first. By name: whoever opens and closes
 * such a file drops the lock of this process.
 */
export async function closeDatabaseFiles(directory: string, log: Log): Promise<void> {
  // No directory yet: whoever makes it closes it.
  const names = await readdir(directory).catch(() => []);
  for (const name of names.filter(isOfDatabase)) {
    const file = path.join(directory, name);
    try {
      const { mode } = await stat(file);
      if ((mode & OTHERS) !== 0) await chmod(file, mode & ~OTHERS & PERMISSIONS);
    } catch (error) {
      log.warn({ file, error }, 'others may read this file, and it cannot be taken from them');
    }
  }
}

/** Tells of a directory that others can enter: what this server makes in it is closed, what is copied there may not be. */
export async function warnOfOpenDirectory(directory: string, log: Log): Promise<void> {
  const { mode } = await stat(directory);
  if ((mode & OTHERS) === 0) return;
  const shown = (mode & PERMISSIONS).toString(8);
  log.warn(`data-dir '${directory}' is open to others (mode ${shown}): chmod 700 it, its files hold secrets`);
}

/** The part of a mode that chmod takes. */
const PERMISSIONS = 0o7777;
