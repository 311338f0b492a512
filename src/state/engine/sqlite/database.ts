/**
 * The SQL of the engine. It runs in the worker thread, so an fsync never blocks a read.
 *
 * Traps: `locking_mode=EXCLUSIVE` is the lock against a second process and must be set before WAL mode [SQLITE-9]. No
 * other code of this process may open the file, because closing any descriptor drops its POSIX locks [SQLITE-14].
 */
import { randomUUID } from 'node:crypto';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { Head, ScanRange } from '../engine.ts';
import { type EncodedOperations, type LoadedPage, REMOVE } from './messages.ts';

/**
 * Characters of keys and values in one loaded page. Larger pages load no faster, and the process keeps the memory of
 * their buffers: with 4 Mi characters, a million rows take 160 MB more.
 */
const PAGE_CHARACTERS = 128 * 1024;
/** The layout version of the tables [SQLITE-17]. */
const LAYOUT = 1;
/** The index of a new store. It is not 0, because a blocking query reads 0 as "no index" [STATE-12]. */
const FIRST_INDEX = 1;

/** The error for a file that this version must leave unchanged. The message contains the remedy. */
export class LayoutError extends Error {
  override readonly name = 'LayoutError';
}

export interface Database {
  head(): Head;
  commit(
    epoch: number,
    base: number,
    operations: EncodedOperations,
    beforeReturn: () => void,
  ): 'committed' | 'conflict';
  /** Starts a load of all tables except those in `except`. `nextPage` returns its pages. */
  startLoad(except: readonly string[]): Head;
  nextPage(): LoadedPage | undefined;
  scan(table: string, range: ScanRange): LoadedPage;
  /** Whether the store has no rows and never had a commit [SQLITE-41]. */
  isEmpty(): boolean;
  begin(): void;
  put(operations: EncodedOperations): void;
  finishImport(head: Head): void;
  rollbackImport(): void;
  close(): void;
}

/** Opens or creates the file and locks it. @throws Error of `node:sqlite` (with `errcode`), LayoutError */
export function openDatabase(file: string): Database {
  const db = new DatabaseSync(file, { timeout: 0 });
  try {
    db.exec('PRAGMA locking_mode=EXCLUSIVE');
    // Entering WAL mode writes to the file, so the layout is checked first [SQLITE-21].
    db.exec('BEGIN IMMEDIATE');
    const layout = checkLayout(db);
    db.exec('COMMIT');
    db.exec('PRAGMA journal_mode=WAL');
    db.exec('PRAGMA synchronous=FULL');
    // A checkpoint costs two more syncs. 4,000 pages are about 16 MiB of changes; the default is 4 MiB [SQLITE-24].
    db.exec('PRAGMA wal_autocheckpoint=4000');
    if (layout !== LAYOUT) createLayout(db);
  } catch (error) {
    db.close();
    throw error;
  }
  const put = db.prepare(
    'INSERT INTO rows VALUES (?, ?, ?) ON CONFLICT (tbl, key) DO UPDATE SET value = excluded.value',
  );
  const remove = db.prepare('DELETE FROM rows WHERE tbl = ? AND key = ?');
  const advance = db.prepare('UPDATE head SET idx = idx + 1 WHERE epoch = ? AND idx = ?');
  let pages: Generator<LoadedPage> | undefined;

  const apply = (operations: EncodedOperations): void => {
    const parts = operations.split('\u0000');
    for (let i = 0; i + 3 < parts.length; i += 4) {
      const table = parts[i + 1] as string;
      const key = parts[i + 2] as string;
      if (parts[i] === REMOVE) remove.run(table, key);
      else put.run(table, key, parts[i + 3] as string);
    }
  };
  const head = (): Head => db.prepare('SELECT cluster, epoch, idx AS "index" FROM head').get() as unknown as Head;

  return {
    head,
    commit(epoch, base, operations, beforeReturn) {
      db.exec('BEGIN IMMEDIATE');
      try {
        if (advance.run(epoch, base).changes !== 1) {
          db.exec('ROLLBACK');
          return 'conflict';
        }
        apply(operations);
        db.exec('COMMIT');
      } catch (error) {
        if (db.isTransaction) db.exec('ROLLBACK');
        throw error;
      }
      beforeReturn();
      return 'committed';
    },
    startLoad(except) {
      pages = readPages(db, new Set(except));
      return head();
    },
    nextPage() {
      const next = pages?.next();
      return next?.done === false ? next.value : undefined;
    },
    scan: (table, range) => scan(db, table, range),
    // A store whose rows were all removed has served indexes that an import would reuse.
    isEmpty: () => head().index === FIRST_INDEX && db.prepare('SELECT 1 FROM rows LIMIT 1').get() === undefined,
    begin: () => db.exec('BEGIN IMMEDIATE'),
    put: apply,
    finishImport({ cluster, epoch, index }) {
      db.prepare('UPDATE head SET cluster = ?, epoch = ?, idx = ?').run(cluster, epoch, index);
      db.exec('COMMIT');
    },
    rollbackImport() {
      if (db.isTransaction) db.exec('ROLLBACK');
    },
    close: () => db.close(),
  };
}

/** Returns the layout version of the file, 0 if the file is empty. @throws LayoutError */
function checkLayout(db: DatabaseSync): number {
  const { user_version: layout } = db.prepare('PRAGMA user_version').get() as { user_version: number };
  if (layout > LAYOUT) {
    const text = `it has layout ${layout}, but this version reads up to ${LAYOUT}: run the version of Accord that wrote it, or a later one`;
    throw new LayoutError(text);
  }
  const { tables } = db.prepare('SELECT count(*) AS tables FROM sqlite_schema').get() as { tables: number };
  if (layout !== LAYOUT && tables > 0) {
    throw new LayoutError('it is an SQLite database, but not one of Accord: choose another data-dir');
  }
  return layout;
}

/**
 * Creates the tables and the head. `rows` is not WITHOUT ROWID, because keys are random, and a B-tree that contains the
 * values splits its pages several times as often. In files of earlier versions, `rows` is WITHOUT ROWID. The same
 * statements work on both [SQLITE-22].
 */
function createLayout(db: DatabaseSync): void {
  db.exec(`
    BEGIN IMMEDIATE;
    CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), cluster TEXT NOT NULL, epoch INTEGER NOT NULL, idx INTEGER NOT NULL);
    CREATE TABLE rows (tbl TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY (tbl, key));
    PRAGMA user_version = ${LAYOUT};
  `);
  db.prepare('INSERT INTO head VALUES (1, ?, 1, ?)').run(randomUUID(), FIRST_INDEX);
  db.exec('COMMIT');
}

function* readPages(db: DatabaseSync, except: ReadonlySet<string>): Generator<LoadedPage> {
  const nextTable = db.prepare('SELECT min(tbl) AS name FROM rows WHERE tbl > ?');
  const select = db.prepare('SELECT key, value FROM rows WHERE tbl = ? ORDER BY key');
  select.setReturnArrays(true);
  for (let table = nextTableName(nextTable, ''); table !== null; table = nextTableName(nextTable, table)) {
    if (except.has(table)) continue;
    let keys: string[] = [];
    let values: string[] = [];
    let characters = 0;
    for (const row of select.iterate(table) as Iterable<unknown> as Iterable<[string, string]>) {
      keys.push(row[0]);
      values.push(row[1]);
      characters += row[0].length + row[1].length;
      if (characters < PAGE_CHARACTERS) continue;
      yield { table, keys, values };
      keys = [];
      values = [];
      characters = 0;
    }
    if (keys.length > 0) yield { table, keys, values };
  }
}

function nextTableName(statement: StatementSync, table: string): string | null {
  return (statement.get(table) as { name: string | null }).name;
}

function scan(db: DatabaseSync, table: string, { from = '', to, limit, reverse = false }: ScanRange): LoadedPage {
  const upper = to === undefined ? '' : 'AND key < ?';
  const sql = `SELECT key, value FROM rows WHERE tbl = ? AND key >= ? ${upper} ORDER BY key ${reverse ? 'DESC' : 'ASC'} LIMIT ?`;
  const statement = db.prepare(sql);
  statement.setReturnArrays(true);
  const parameters = to === undefined ? [table, from, limit] : [table, from, to, limit];
  const rows = statement.all(...parameters) as unknown as [string, string][];
  return { table, keys: rows.map((row) => row[0]), values: rows.map((row) => row[1]) };
}
