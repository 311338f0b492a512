/** Checks the database of a stopped server as its start would. */
import { DatabaseSync } from 'node:sqlite';
import { DamageError } from './damage.ts';
import { openDatabase, resultCode, SQLITE_CORRUPT, SQLITE_NOTADB } from './database.ts';

/** Returns the damage. Returns `undefined` for a whole database, and for one that cannot be opened for another reason. */
export function findDamage(file: string): string | undefined {
  try {
    const database = openDatabase(file);
    try {
      database.startLoad([]);
      while (database.nextPage() !== undefined);
      while (database.verifyStep());
    } finally {
      database.close();
    }
    return undefined;
  } catch (error) {
    const code = resultCode(error);
    const isDamage = error instanceof DamageError || code === SQLITE_CORRUPT || code === SQLITE_NOTADB;
    return isDamage ? (error as Error).message : undefined;
  }
}

/** Moves the readable commits of the log to the file, and removes the log. Does nothing if SQLite cannot open them. */
export function foldLog(file: string): void {
  try {
    const db = new DatabaseSync(file, { timeout: 0 });
    try {
      db.exec('PRAGMA locking_mode=EXCLUSIVE; BEGIN IMMEDIATE; COMMIT');
    } finally {
      db.close();
    }
  } catch (error) {
    if (resultCode(error) === undefined) throw error;
  }
}
