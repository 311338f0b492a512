/** Restricts the data directory to the server's own user, because its files can contain unencrypted secrets. */
import { chmod, readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import type { Log } from '../http/telemetry/log.ts';
import { GROUP_AND_OTHERS } from './limits.ts';

/** Whether the file is the SQLite database or belongs to it. */
const isDatabaseFile = (name: string): boolean => /^accord\.db(-wal|-shm|-journal|\.pid|\.head)?$/.test(name);

/**
 * Removes the permissions of group and others from the database files, which earlier versions did not set. Must run
 * before the database is opened, because SQLite copies the mode to the files it creates. Works by name, because opening
 * and closing such a file would drop this process's lock.
 */
export async function restrictDatabaseFiles(directory: string, log: Log): Promise<void> {
  // The directory may not exist yet. It is created with the right mode.
  const names = await readdir(directory).catch(() => []);
  for (const name of names.filter(isDatabaseFile)) {
    const file = path.join(directory, name);
    try {
      const { mode } = await stat(file);
      if ((mode & GROUP_AND_OTHERS) !== 0) await chmod(file, mode & ~GROUP_AND_OTHERS & PERMISSIONS);
    } catch (error) {
      log.warn({ file, error }, 'database file is readable by others');
    }
  }
}

/** Logs a directory that others can enter. The server's files are restricted; files copied into it may not be. */
export async function warnIfDirectoryIsOpen(directory: string, log: Log): Promise<void> {
  const { mode } = await stat(directory);
  if ((mode & GROUP_AND_OTHERS) === 0) return;
  const remedy = `chmod 700 '${directory}', because its files contain secrets`;
  log.warn({ directory, mode: (mode & PERMISSIONS).toString(8), remedy }, 'data-dir is open to others');
}

/** The mode bits that `chmod` sets. */
const PERMISSIONS = 0o7777;
