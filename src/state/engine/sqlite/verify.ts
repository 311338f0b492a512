/**
 * Verifies the whole file at start [SQLITE-47]: the structure of its pages, every row against its checksum, and the rows
 * of every table against the totals in the head.
 */
import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { addToTotals, rowChecksum, type Totals } from './checksum.ts';
import { DamageError, damagedRow } from './damage.ts';

/** Rows that one step verifies. They take about a millisecond. */
const STEP_ROWS = 1_000;

/** Whether the columns of a stored row have their types and match its checksum. */
export function isWhole(table: unknown, key: unknown, value: unknown, sum: unknown): boolean {
  const isTyped = typeof table === 'string' && typeof key === 'string' && typeof value === 'string';
  return isTyped && rowChecksum(table, key, value) === sum;
}

/**
 * Yields after every step. The rows must not change until it ends.
 * @param notLoaded tables that the load does not read, and whose rows are therefore read here by the index too
 * @throws DamageError, Error of `node:sqlite`
 */
export function* verifyFile(db: DatabaseSync, totals: Totals, notLoaded: ReadonlySet<string>): Generator<void> {
  const { quick_check: problem } = db.prepare('PRAGMA quick_check(1)').get() as { quick_check: string };
  if (problem !== 'ok') throw new DamageError(problem.replaceAll('\n', ' '));
  yield;
  // The order of the file is the fastest, and the keys come from the rows and not from the index.
  const all = db.prepare('SELECT tbl, key, value, sum FROM rows NOT INDEXED ORDER BY rowid');
  yield* verifyRows(all, [], totals);
  const indexed = db.prepare('SELECT tbl, key, value, sum FROM rows WHERE tbl = ? ORDER BY key');
  for (const [table, total] of totals) {
    if (notLoaded.has(table)) yield* verifyRows(indexed, [table], new Map([[table, total]]));
  }
}

function* verifyRows(statement: StatementSync, parameters: readonly string[], totals: Totals): Generator<void> {
  statement.setReturnArrays(true);
  const found: Totals = new Map();
  let step = 0;
  const rows = statement.iterate(...parameters) as Iterable<unknown> as Iterable<[string, string, string, number]>;
  for (const [table, key, value, sum] of rows) {
    if (!isWhole(table, key, value, sum)) throw damagedRow(table, key);
    addToTotals(found, table, sum);
    if (++step % STEP_ROWS === 0) yield;
  }
  compareTotals(found, totals);
}

/** Compares the totals of the rows that were read with the totals in the head. @throws DamageError */
export function compareTotals(found: Totals, expected: Totals): void {
  for (const table of new Set([...expected.keys(), ...found.keys()])) {
    const { rows: expectedRows, sum: expectedSum } = expected.get(table) ?? { rows: 0, sum: 0 };
    const { rows, sum } = found.get(table) ?? { rows: 0, sum: 0 };
    if (rows === expectedRows && sum === expectedSum) continue;
    const text =
      rows === expectedRows
        ? `the rows of table '${table}' are not those of the last commit`
        : `table '${table}' has ${rows} rows, but the last commit left ${expectedRows}`;
    throw new DamageError(text);
  }
}
