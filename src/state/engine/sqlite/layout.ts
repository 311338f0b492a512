/**
 * The layout of the database file: its tables, their creation, and the migration of earlier layouts [SQLITE-16].
 *
 * `rows` is not WITHOUT ROWID, because keys are random, and a B-tree that contains the values splits its pages several
 * times as often.
 */
import { randomUUID } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import type { Head } from '../engine.ts';
import { addToTotals, encodeTotals, headChecksum, rowChecksum, type Totals } from './checksum.ts';
import { DamageError } from './damage.ts';

/** The version of the layout, which is in `PRAGMA user_version` [SQLITE-17]. */
export const LAYOUT = 2;
/** The layout without checksums. In its earliest files, `rows` is WITHOUT ROWID. */
const LAYOUT_WITHOUT_CHECKSUMS = 1;
/** The index of a new store. It is not 0, because a blocking query reads 0 as "no index" [STATE-12]. */
export const FIRST_INDEX = 1;

const TABLES = {
  head: 'CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), cluster TEXT NOT NULL, epoch INTEGER NOT NULL, idx INTEGER NOT NULL, totals TEXT NOT NULL, sum INTEGER NOT NULL)',
  rows: 'CREATE TABLE rows (tbl TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, sum INTEGER NOT NULL, PRIMARY KEY (tbl, key))',
} as const;

/** The error for a file that this version must leave unchanged. The message contains the remedy. */
export class LayoutError extends Error {
  override readonly name = 'LayoutError';
}

/** Returns the layout version of the file, 0 if the file is empty. @throws LayoutError, DamageError */
export function checkLayout(db: DatabaseSync): number {
  const { user_version: layout } = db.prepare('PRAGMA user_version').get() as { user_version: number };
  if (layout > LAYOUT) {
    const text = `it has layout ${layout}, but this version reads up to ${LAYOUT}: run the version of Accord that wrote it, or a later one`;
    throw new LayoutError(text);
  }
  const schema = db.prepare("SELECT name, sql FROM sqlite_schema WHERE type = 'table'").all() as {
    name: string;
    sql: string;
  }[];
  if (layout < LAYOUT_WITHOUT_CHECKSUMS && schema.length > 0) {
    throw new LayoutError('it is an SQLite database, but not one of Accord: choose another data-dir');
  }
  const created = new Map(schema.map(({ name, sql }) => [name, sql]));
  for (const [name, sql] of Object.entries(TABLES)) {
    const isExpected = layout === LAYOUT ? created.get(name) === sql : layout === 0 || created.has(name);
    if (!isExpected) throw new DamageError(`its table '${name}' is missing or has another declaration`);
  }
  return layout;
}

/** Creates the tables and the head of an empty file, or adds checksums to a file without them, in one transaction. */
export function createOrMigrate(db: DatabaseSync, layout: number): void {
  db.exec('BEGIN IMMEDIATE');
  try {
    if (layout === LAYOUT_WITHOUT_CHECKSUMS) {
      migrate(db);
    } else {
      db.exec(TABLES.rows);
      createHead(db, { cluster: randomUUID(), epoch: 1, index: FIRST_INDEX }, new Map());
    }
    db.exec(`PRAGMA user_version = ${LAYOUT}; COMMIT`);
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
}

function createHead(db: DatabaseSync, head: Head, totals: Totals): void {
  db.exec(TABLES.head);
  const text = encodeTotals(totals);
  const { cluster, epoch, index } = head;
  db.prepare('INSERT INTO head VALUES (1, ?, ?, ?, ?, ?)').run(cluster, epoch, index, text, headChecksum(head, text));
}

/** Copies the rows of a file without checksums. SQLite itself checks what it can. @throws DamageError */
function migrate(db: DatabaseSync): void {
  const { integrity_check: problem } = db.prepare('PRAGMA integrity_check(1)').get() as { integrity_check: string };
  if (problem !== 'ok') throw new DamageError(problem);
  const head = db.prepare('SELECT cluster, epoch, idx AS "index" FROM head').get() as Head | undefined;
  if (head === undefined) throw new DamageError('its head is missing');
  const totals: Totals = new Map();
  db.function('row_sum', (table, key, value) => {
    const checksum = rowChecksum(String(table), String(key), String(value));
    addToTotals(totals, String(table), checksum);
    return checksum;
  });
  db.exec('ALTER TABLE head RENAME TO earlier_head; ALTER TABLE rows RENAME TO earlier_rows');
  db.exec(TABLES.rows);
  db.exec('INSERT INTO rows SELECT tbl, key, value, row_sum(tbl, key, value) FROM earlier_rows');
  db.exec('DROP TABLE earlier_head; DROP TABLE earlier_rows');
  createHead(db, head, totals);
}
