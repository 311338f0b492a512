/**
 * Reads what is whole of a damaged database [SQLITE-54]. It changes nothing, and holds a lock that keeps servers out.
 */
import { rmSync, statSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { StateError } from '../../errors.ts';
import type { Head, StoredRow } from '../engine.ts';
import { readAcknowledgedHead } from './acknowledged-head.ts';
import type { Totals } from './checksum.ts';
import { DamageError } from './damage.ts';
import { readHead, resultCode, SQLITE_BUSY } from './database.ts';
import { isWhole } from './verify.ts';

/** Row IDs that are tried behind the last readable row, if the end of the table is unreadable. */
const ROWIDS_TRIED_MAX = 1_000_000;

export interface Salvage extends Disposable {
  /** The head of the database, or the newest one that is known to have been durable; `undefined` if both are lost. */
  readonly head: Head | undefined;
  /** The number of rows that the head counts, by table; empty if the head is lost. */
  readonly expectedRows: ReadonlyMap<string, number>;
  /** Yields the whole rows in the order of the file. Reports the others that can be read to `onDamaged`. */
  rows(onDamaged: (table: string, key: string) => void): Generator<StoredRow>;
}

/** Opens the database of a stopped server. @throws StateError `locked` | `unavailable` */
export function openSalvage(file: string): Salvage {
  const hadIndex = statSync(`${file}-shm`, { throwIfNoEntry: false }) !== undefined;
  let db: DatabaseSync | undefined;
  const close = (): void => {
    db?.close();
    if (!hadIndex) rmSync(`${file}-shm`, { force: true });
  };
  try {
    db = new DatabaseSync(file, { readOnly: true, timeout: 0 });
    // The transaction keeps a shared lock, so that no server can open the file.
    db.exec('BEGIN');
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
  } catch (error) {
    close();
    const isLocked = resultCode(error) === SQLITE_BUSY;
    const text = isLocked ? 'a process is using it: stop the server first' : (error as Error).message;
    throw new StateError(isLocked ? 'locked' : 'unavailable', `'${file}' cannot be read: ${text}`, { cause: error });
  }
  const opened = db;
  const stored = tryReading(() => readHead(opened));
  const heads = [stored?.head, readAcknowledgedHead(`${file}.head`)].filter((head) => head !== undefined);
  return {
    head: heads.sort((a, b) => b.epoch - a.epoch || b.index - a.index)[0],
    expectedRows: new Map([...(stored?.totals ?? (new Map() as Totals))].map(([table, { rows }]) => [table, rows])),
    *rows(onDamaged) {
      for (const { table, key, value, sum } of readableRows(opened)) {
        if (sum === null ? typeof value === 'string' : isWhole(table, key, value, sum)) yield { table, key, value };
        else onDamaged(String(table), String(key));
      }
    },
    [Symbol.dispose]: close,
  };
}

interface SalvagedRow extends StoredRow {
  readonly rowid: number;
  /** `null` in a database of a version without checksums. */
  readonly sum: number | null;
}

/** Yields every row that SQLite can read: from the start, from the end, and one by one in between. */
function* readableRows(db: DatabaseSync): Generator<SalvagedRow> {
  // A damaged schema may lack the table.
  if (tryReading(() => db.prepare('SELECT value FROM rows LIMIT 0')) === undefined) return;
  const hasSums = tryReading(() => db.prepare('SELECT sum FROM rows LIMIT 0').all()) !== undefined;
  const columns = `SELECT rowid, tbl AS "table", key, value, ${hasSums ? 'sum' : 'NULL AS sum'} FROM rows NOT INDEXED`;
  let first = 0;
  let last = 0;
  const upward = db.prepare(`${columns} ORDER BY rowid`).iterate() as Iterable<unknown> as Iterable<SalvagedRow>;
  const isComplete = yield* untilDamage(upward, (row) => {
    first = row.rowid;
    return true;
  });
  if (isComplete) return;
  const downward = db.prepare(`${columns} ORDER BY rowid DESC`).iterate() as Iterable<unknown> as Iterable<SalvagedRow>;
  yield* untilDamage(downward, (row) => {
    if (row.rowid <= first) return false;
    last = row.rowid;
    return true;
  });
  const one = db.prepare(`${columns} WHERE rowid = ?`);
  const end = last === 0 ? first + ROWIDS_TRIED_MAX : last;
  for (let rowid = first + 1; rowid < end; rowid++) {
    const row = tryReading(() => one.get(rowid)) as unknown as SalvagedRow | undefined;
    if (row !== undefined) yield row;
  }
}

/** Yields rows while `isWanted` returns true. @returns whether SQLite could read all rows */
function* untilDamage(
  rows: Iterable<SalvagedRow>,
  isWanted: (row: SalvagedRow) => boolean,
): Generator<SalvagedRow, boolean> {
  const iterator = rows[Symbol.iterator]();
  for (;;) {
    const next = tryReading(() => iterator.next());
    if (next === undefined) return false;
    if (next.done === true || !isWanted(next.value)) return true;
    yield next.value;
  }
}

/** Returns `undefined` if SQLite cannot read, or the result is damaged. */
function tryReading<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof DamageError || resultCode(error) !== undefined) return undefined;
    throw error;
  }
}
