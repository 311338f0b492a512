/** Lookups in the indexes of tables. They hide expired and orphaned rows, which no longer exist for readers. */
import type { Steps } from '../clock/slices.ts';
import { SLICE_ROWS } from '../limits.ts';
import { type AnyTable, indexOf, type NamedIndex, SEPARATOR, type Stored, type Table } from '../table.ts';
import { secondaryIndex, type TableIndexes } from './table-indexes.ts';

export interface Page {
  /** The primary key after which the listing starts. */
  readonly after?: string;
  readonly limit?: number;
}

/** Synchronous reads from one snapshot or batch. */
export interface Reader {
  get<Row>(table: Table<Row, string>, key: string): Stored<Row> | undefined;
  /** The row under an entry of a unique index. */
  find<Row, Index extends string>(table: Table<Row, Index>, index: Index, entry: string): Stored<Row> | undefined;
  /** The rows under an entry of a plain (not unique) index, in the order of their primary keys. */
  list<Row, Index extends string>(table: Table<Row, Index>, index: Index, entry: string, page?: Page): Stored<Row>[];
  /** All rows, in the order of their primary keys. */
  all<Row>(table: Table<Row, string>, page?: Page): Stored<Row>[];
  /** The number of rows in memory, which includes expired and orphaned rows until a job drops them. */
  count(table: AnyTable): number;
  /** The first row of an index whose entry is not less than `fromEntry`. */
  first<Row, Index extends string>(table: Table<Row, Index>, index: Index, fromEntry?: string): Stored<Row> | undefined;
}

export interface ReaderSource {
  tableIndexes(table: AnyTable): TableIndexes;
  /** Milliseconds since 1970. Rows that expire at this time or before do not exist. */
  now(): number;
  /** Whether the tables may contain rows without their owner, so that lookups must check the owners. */
  mayHaveOrphans(): boolean;
}

/** Whether a row in the indexes exists for readers. */
export function isAlive(source: ReaderSource, table: AnyTable, row: unknown): boolean {
  const expiry = table.expiresAt?.(row);
  if (expiry !== undefined && expiry <= source.now()) return false;
  if (table.owners === undefined || !(table.ownersExpire || source.mayHaveOrphans())) return true;
  return ownersExist(source, table, row);
}

export function ownersExist(source: ReaderSource, table: AnyTable, row: unknown): boolean {
  for (const owner of table.owners ?? []) {
    const ownerKey = indexOf(table, owner.index).entry(row);
    if (ownerKey === undefined) continue;
    const stored = source.tableIndexes(owner.table).rows.get(ownerKey);
    if (stored === undefined || !isAlive(source, owner.table, stored.row)) return false;
  }
  return true;
}

export function createReader(source: ReaderSource): Reader {
  const ifAlive = <Row>(table: AnyTable, stored: Stored<unknown> | undefined): Stored<Row> | undefined =>
    stored !== undefined && isAlive(source, table, stored.row) ? (stored as Stored<Row>) : undefined;

  return {
    get: (table, key) => ifAlive(table, source.tableIndexes(table).rows.get(key)),
    find(table, index, entry) {
      const indexes = source.tableIndexes(table);
      const key = secondaryIndex(indexes, uniqueIndex(table, index)).get(entry);
      return key === undefined ? undefined : ifAlive(table, indexes.rows.get(key));
    },
    list<Row, Index extends string>(table: Table<Row, Index>, index: Index, entry: string, page: Page = {}) {
      const indexes = source.tableIndexes(table);
      const prefix = entry + SEPARATOR;
      const start = prefix + (page.after ?? '');
      const rows: Stored<Row>[] = [];
      for (const [treeKey, key] of secondaryIndex(indexes, plainIndex(table, index)).entries(start)) {
        if (rows.length === page.limit || !treeKey.startsWith(prefix)) break;
        const stored = key === page.after ? undefined : ifAlive<Row>(table, indexes.rows.get(key));
        if (stored !== undefined) rows.push(stored);
      }
      return rows;
    },
    all<Row>(table: Table<Row, string>, page: Page = {}) {
      const rows: Stored<Row>[] = [];
      for (const [key, found] of source.tableIndexes(table).rows.entries(page.after)) {
        if (rows.length === page.limit) break;
        const stored = key === page.after ? undefined : ifAlive<Row>(table, found);
        if (stored !== undefined) rows.push(stored);
      }
      return rows;
    },
    count: (table) => source.tableIndexes(table).rows.size,
    first<Row, Index extends string>(table: Table<Row, Index>, index: Index, fromEntry = '') {
      const indexes = source.tableIndexes(table);
      const tree = secondaryIndex(indexes, indexOf(table, index) as NamedIndex<unknown>);
      for (const [, key] of tree.entries(fromEntry)) {
        const stored = ifAlive<Row>(table, indexes.rows.get(key));
        if (stored !== undefined) return stored;
      }
      return undefined;
    },
  };
}

/** Returns what `reader.list` returns. */
export function* listInSlices<Row, Index extends string>(
  reader: Reader,
  table: Table<Row, Index>,
  index: Index,
  entry: string,
  page: Page = {},
): Steps<Stored<Row>[]> {
  return yield* inPages(table, page, (next) => reader.list(table, index, entry, next));
}

/** Returns what `reader.all` returns. */
export function* allInSlices<Row>(reader: Reader, table: Table<Row, string>, page: Page = {}): Steps<Stored<Row>[]> {
  return yield* inPages(table, page, (next) => reader.all(table, next));
}

function* inPages<Row>(
  table: Table<Row, string>,
  { after, limit = Number.POSITIVE_INFINITY }: Page,
  read: (page: Page) => Stored<Row>[],
): Steps<Stored<Row>[]> {
  const found: Stored<Row>[] = [];
  for (let last = after; ; ) {
    const rows = read({
      ...(last !== undefined && { after: last }),
      limit: Math.min(SLICE_ROWS, limit - found.length),
    });
    for (const row of rows) found.push(row);
    const end = rows.at(-1);
    if (end === undefined || rows.length < SLICE_ROWS) return found;
    last = table.key(end.row);
    yield;
  }
}

function uniqueIndex<Row>(table: Table<Row, string>, name: string): NamedIndex<unknown> {
  const named = indexOf(table, name);
  if (!named.unique) throw new TypeError(`index '${name}' is not unique: use list`);
  return named as NamedIndex<unknown>;
}

function plainIndex<Row>(table: Table<Row, string>, name: string): NamedIndex<unknown> {
  const named = indexOf(table, name);
  if (named.unique) throw new TypeError(`index '${name}' is unique: use find`);
  return named as NamedIndex<unknown>;
}
