/**
 * The SQL of the engine. It runs in the worker thread, so an fsync never blocks a read.
 *
 * Traps: `locking_mode=EXCLUSIVE` is the lock against a second process and must be set before WAL mode [SQLITE-9]. No
 * other code of this process may open the file, because closing any descriptor drops its POSIX locks [SQLITE-14].
 */
import { existsSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync, type StatementSync } from 'node:sqlite';
import type { Head, ScanRange } from '../engine.ts';
import { openAcknowledgedHead, readAcknowledgedHead } from './acknowledged-head.ts';
import { addToTotals, decodeTotals, encodeTotals, headChecksum, rowChecksum, type Totals } from './checksum.ts';
import { DamageError, damagedRow } from './damage.ts';
import { diskSpace } from './disk-space.ts';
import { checkLayout, createOrMigrate, FIRST_INDEX, LAYOUT } from './layout.ts';
import { type EncodedOperations, type LoadedPage, REMOVE, type ScannedPage } from './messages.ts';
import { compareTotals, isWhole, verifyFile } from './verify.ts';
import { findWalDamage } from './wal.ts';

/**
 * Characters of keys and values in one loaded page. Larger pages load no faster, and the process keeps the memory of
 * their buffers: with 4 Mi characters, a million rows take 160 MB more.
 */
const PAGE_CHARACTERS = 128 * 1024;

/** Primary result codes of SQLite. */
export const SQLITE_BUSY = 5;
export const SQLITE_CORRUPT = 11;
export const SQLITE_FULL = 13;
export const SQLITE_NOTADB = 26;

/** Returns the primary result code of an error of `node:sqlite`; `undefined` for any other error. */
export function resultCode(error: unknown): number | undefined {
  const { errcode } = error as { errcode?: number };
  return errcode === undefined ? undefined : errcode & 0xff;
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
  /** @throws DamageError */
  nextPage(): LoadedPage | undefined;
  /** Verifies a part of the file after `startLoad`. @returns whether another part is left @throws DamageError */
  verifyStep(): boolean;
  scan(table: string, range: ScanRange): ScannedPage;
  /** Whether the store has no rows and never had a commit [SQLITE-41]. */
  isEmpty(): boolean;
  /** Returns the bytes of free pages in the file, which rows can use. */
  freeBytes(): number;
  begin(): void;
  put(operations: EncodedOperations): void;
  finishImport(head: Head): void;
  rollbackImport(): void;
  close(): void;
}

/** Opens or creates the file and locks it. @throws Error of `node:sqlite` (with `errcode`), LayoutError, DamageError */
export function openDatabase(file: string): Database {
  const headFile = `${file}.head`;
  checkFiles(file, headFile);
  const db = new DatabaseSync(file, { timeout: 0 });
  const space = diskSpace(db, path.dirname(file), (error) => resultCode(error) === SQLITE_FULL);
  let current: Head;
  let totals: Totals;
  try {
    db.exec('PRAGMA locking_mode=EXCLUSIVE');
    // Entering WAL mode writes to the file, so the layout is checked first [SQLITE-21].
    db.exec('BEGIN IMMEDIATE');
    const layout = checkLayout(db);
    db.exec('COMMIT');
    db.exec('PRAGMA journal_mode=WAL');
    db.exec('PRAGMA synchronous=FULL');
    space.configure();
    if (layout !== LAYOUT) createOrMigrate(db, layout);
    ({ head: current, totals } = readHead(db));
    checkAcknowledged(current, readAcknowledgedHead(headFile));
    // After a failed sync, commits of the log may be in the memory of the operating system only. Moving them to the
    // file writes and syncs them again.
    space.checkpoint('TRUNCATE');
  } catch (error) {
    db.close();
    throw error;
  }
  // Exclusive mode keeps the index of the log in memory, so this file is left from another program.
  rmSync(`${file}-shm`, { force: true });
  const acknowledged = openAcknowledgedHead(headFile);
  acknowledged.record(current);
  const insert = db.prepare('INSERT INTO rows VALUES (?, ?, ?, ?) ON CONFLICT (tbl, key) DO NOTHING');
  const update = db.prepare('UPDATE rows SET value = ?, sum = ? WHERE tbl = ? AND key = ?');
  const remove = db.prepare('DELETE FROM rows WHERE tbl = ? AND key = ?');
  const selectSum = db.prepare('SELECT sum FROM rows WHERE tbl = ? AND key = ?');
  const advance = db.prepare('UPDATE head SET idx = idx + 1, totals = ?, sum = ? WHERE epoch = ? AND idx = ?');
  let pages: Generator<LoadedPage> | undefined;
  let verification: Generator<void> | undefined;

  /** Subtracts a stored row from the totals. @returns whether there is such a row */
  const subtract = (next: Totals, table: string, key: string): boolean => {
    const stored = selectSum.get(table, key) as { sum: number } | undefined;
    if (stored === undefined) return false;
    addToTotals(next, table, stored.sum, -1);
    return true;
  };
  /** Applies operations to the rows, and to `next`, which are the totals after the transaction. */
  const apply = (parts: readonly string[], next: Totals): void => {
    for (let i = 0; i + 3 < parts.length; i += 4) {
      const table = parts[i + 1] as string;
      const key = parts[i + 2] as string;
      if (parts[i] === REMOVE) {
        if (subtract(next, table, key)) remove.run(table, key);
        continue;
      }
      const value = parts[i + 3] as string;
      const sum = rowChecksum(table, key, value);
      // Most rows are new, if only because every change adds an audit entry. They need no lookup of a previous sum.
      if (insert.run(table, key, value, sum).changes === 0) {
        subtract(next, table, key);
        update.run(value, sum, table, key);
      }
      addToTotals(next, table, sum);
    }
  };
  const commitOnce = (epoch: number, base: number, parts: readonly string[]): 'committed' | 'conflict' => {
    db.exec('BEGIN IMMEDIATE');
    try {
      const next = new Map(totals);
      apply(parts, next);
      const head = { ...current, epoch, index: base + 1 };
      const text = encodeTotals(next);
      if (advance.run(text, headChecksum(head, text), epoch, base).changes !== 1) {
        db.exec('ROLLBACK');
        return 'conflict';
      }
      db.exec('COMMIT');
      current = head;
      totals = next;
      return 'committed';
    } catch (error) {
      if (db.isTransaction) db.exec('ROLLBACK');
      throw error;
    }
  };

  return {
    head: () => readHead(db).head,
    commit(epoch, base, operations, beforeReturn) {
      const parts = operations.split('\u0000');
      space.check(hasRemoval(parts));
      let result: 'committed' | 'conflict';
      try {
        result = commitOnce(epoch, base, parts);
      } catch (error) {
        // The commits of the log may be all that fills the disk.
        if (resultCode(error) !== SQLITE_FULL || !space.checkpoint('PASSIVE')) throw error;
        result = commitOnce(epoch, base, parts);
      }
      if (result === 'conflict') return result;
      acknowledged.record(current);
      space.afterCommit();
      beforeReturn();
      return result;
    },
    startLoad(except) {
      const notLoaded = new Set(except);
      pages = readPages(db, notLoaded, totals);
      verification = verifyFile(db, totals, notLoaded);
      return current;
    },
    nextPage() {
      const next = pages?.next();
      return next?.done === false ? next.value : undefined;
    },
    verifyStep: () => verification?.next().done === false,
    scan: (table, range) => scan(db, table, range),
    // A store whose rows were all removed has served indexes that an import would reuse.
    isEmpty: () => current.index === FIRST_INDEX && totals.size === 0,
    freeBytes: () => space.freeBytesInFile(),
    begin: () => db.exec('BEGIN IMMEDIATE'),
    put: (operations) => apply(operations.split('\u0000'), totals),
    finishImport(head) {
      const { cluster, epoch, index } = head;
      const text = encodeTotals(totals);
      const update = db.prepare('UPDATE head SET cluster = ?, epoch = ?, idx = ?, totals = ?, sum = ?');
      update.run(cluster, epoch, index, text, headChecksum(head, text));
      db.exec('COMMIT');
      current = head;
      acknowledged.record(head);
      space.checkpoint('TRUNCATE');
    },
    rollbackImport() {
      if (db.isTransaction) db.exec('ROLLBACK');
      totals = new Map();
    },
    close() {
      db.close();
      acknowledged[Symbol.dispose]();
    },
  };
}

function hasRemoval(parts: readonly string[]): boolean {
  for (let i = 0; i < parts.length; i += 4) if (parts[i] === REMOVE) return true;
  return false;
}

/**
 * Checks what SQLite would take for a new database or for the end of the log. It reads the files without the lock, so a
 * log that looks damaged may be one that another process is writing.
 * @throws DamageError, Error of `node:sqlite` with SQLITE_BUSY
 */
function checkFiles(file: string, headFile: string): void {
  const log = `${file}-wal`;
  const isEmpty = !existsSync(file) || statSync(file).size === 0;
  const acknowledged = readAcknowledgedHead(headFile);
  if (isEmpty && acknowledged !== undefined) {
    const text = `it is missing or empty, but '${headFile}' shows that index ${acknowledged.index} was committed; to start with an empty state, remove that file`;
    throw new DamageError(text);
  }
  if (isEmpty && existsSync(log) && statSync(log).size > 0) {
    throw new DamageError(
      `it is missing or empty, but its log '${log}' is not; to start with an empty state, remove both`,
    );
  }
  const damage = findWalDamage(log);
  if (damage === undefined) return;
  assertUnlocked(file);
  throw new DamageError(`its log '${log}' is damaged: ${findWalDamage(log) ?? damage}`);
}

/** Asserts that no process uses the file, and does not change it. @throws Error of `node:sqlite` with SQLITE_BUSY */
function assertUnlocked(file: string): void {
  const hadIndex = existsSync(`${file}-shm`);
  const probe = new DatabaseSync(file, { readOnly: true, timeout: 0 });
  try {
    probe.prepare('PRAGMA schema_version').get();
  } catch (error) {
    if (resultCode(error) === SQLITE_BUSY) throw error;
  } finally {
    probe.close();
    if (!hadIndex) rmSync(`${file}-shm`, { force: true });
  }
}

/** Compares the head of the database with the newest head that is known to be durable. @throws DamageError */
function checkAcknowledged({ cluster, epoch, index }: Head, acknowledged: Head | undefined): void {
  // A file of another cluster was put here on purpose.
  if (acknowledged === undefined || acknowledged.cluster !== cluster) return;
  if (epoch > acknowledged.epoch || (epoch === acknowledged.epoch && index >= acknowledged.index)) return;
  throw new DamageError(
    `it ends at index ${index}, but index ${acknowledged.index} was committed, as 'accord.db.head' shows: its log is missing, cut off or damaged at its end`,
  );
}

/** Reads the head and the totals. @throws DamageError */
export function readHead(db: DatabaseSync): { readonly head: Head; readonly totals: Totals } {
  const row = db.prepare('SELECT cluster, epoch, idx, totals, sum FROM head').get();
  if (row === undefined) throw new DamageError('its head is missing');
  const {
    cluster,
    epoch,
    idx: index,
    totals,
    sum,
  } = row as {
    cluster: string;
    epoch: number;
    idx: number;
    totals: string;
    sum: number;
  };
  const head = { cluster, epoch, index };
  if (headChecksum(head, totals) !== sum) throw new DamageError('its head does not match its checksum');
  return { head, totals: decodeTotals(totals) };
}

function* readPages(db: DatabaseSync, except: ReadonlySet<string>, totals: Totals): Generator<LoadedPage> {
  const nextTable = db.prepare('SELECT min(tbl) AS name FROM rows WHERE tbl > ?');
  const select = db.prepare('SELECT key, value, sum FROM rows WHERE tbl = ? ORDER BY key');
  select.setReturnArrays(true);
  const found: Totals = new Map([...totals].filter(([table]) => except.has(table)));
  for (let table = nextTableName(nextTable, ''); table !== null; table = nextTableName(nextTable, table)) {
    if (except.has(table)) continue;
    let keys: string[] = [];
    let values: string[] = [];
    let characters = 0;
    for (const row of select.iterate(table) as Iterable<unknown> as Iterable<[string, string, number]>) {
      const [key, value, sum] = row;
      if (!isWhole(table, key, value, sum)) throw damagedRow(table, key);
      addToTotals(found, table, sum);
      keys.push(key);
      values.push(value);
      characters += key.length + value.length;
      if (characters < PAGE_CHARACTERS) continue;
      yield { table, keys, values };
      keys = [];
      values = [];
      characters = 0;
    }
    if (keys.length > 0) yield { table, keys, values };
  }
  compareTotals(found, totals);
}

function nextTableName(statement: StatementSync, table: string): string | null {
  return (statement.get(table) as { name: string | null }).name;
}

function scan(db: DatabaseSync, table: string, range: ScanRange): ScannedPage {
  try {
    const rows = select(db, 'key, value, sum', table, range) as [string, string, number][];
    const values = rows.map(([key, value, sum]) => (isWhole(table, key, value, sum) ? value : null));
    return { table, keys: rows.map(([key]) => key), values };
  } catch (error) {
    if (resultCode(error) !== SQLITE_CORRUPT) throw error;
  }
  // Reads the keys from the index alone, and then each row by itself, so that a damaged page hides only its own rows.
  const keys = (select(db, 'key', table, range) as [string][]).map(([key]) => key);
  const row = db.prepare('SELECT value, sum FROM rows WHERE tbl = ? AND key = ?');
  const values = keys.map((key) => {
    try {
      const { value, sum } = row.get(table, key) as { value: string; sum: number };
      return isWhole(table, key, value, sum) ? value : null;
    } catch (error) {
      if (resultCode(error) !== SQLITE_CORRUPT) throw error;
      return null;
    }
  });
  return { table, keys, values };
}

function select(db: DatabaseSync, columns: string, table: string, range: ScanRange): unknown[] {
  const { from = '', to, limit, reverse = false } = range;
  const upper = to === undefined ? '' : 'AND key < ?';
  const sql = `SELECT ${columns} FROM rows WHERE tbl = ? AND key >= ? ${upper} ORDER BY key ${reverse ? 'DESC' : 'ASC'} LIMIT ?`;
  const statement = db.prepare(sql);
  statement.setReturnArrays(true);
  return statement.all(...(to === undefined ? [table, from, limit] : [table, from, to, limit]));
}
