/** Look-ups in a set of trees, hiding what no longer exists: rows that are past their expiry or whose owner is gone. */
import { type AnyTable, indexOf, type NamedIndex, SEPARATOR, type Stored, type Table } from '../table.ts';
import { type TableTrees, treeOf } from './table-indexes.ts';

/** Where a listing begins and how long it may be. */
export interface Page {
  /** Only rows after this primary key (within the entry, for an index). */
  readonly after?: string;
  /** At most so many rows. */
  readonly limit?: number;
}

/** Synchronous reads, all from one picture of the state. */
export interface Reader {
  /** The row under a primary key. */
  get<Row>(table: Table<Row, string>, key: string): Stored<Row> | undefined;
  /** The row under an entry of a unique index. */
  find<Row, Index extends string>(table: Table<Row, Index>, index: Index, entry: string): Stored<Row> | undefined;
  /** The rows under an entry of a plain index, by primary key. */
  list<Row, Index extends string>(table: Table<Row, Index>, index: Index, entry: string, page?: Page): Stored<Row>[];
  /** All rows, by primary key. */
  all<Row>(table: Table<Row, string>, page?: Page): Stored<Row>[];
  /** Rows in memory; those that are expired or lost their owner count until they are cleared away. */
  count(table: AnyTable): number;
  /** The first row of an index in the order of its entries, from `fromEntry` on. */
  first<Row, Index extends string>(table: Table<Row, Index>, index: Index, fromEntry?: string): Stored<Row> | undefined;
}

/** What a reader looks into. */
export interface ReaderSource {
  trees(table: AnyTable): TableTrees;
  /** Milliseconds since 1970: rows that expire at or before it do not exist. */
  now(): number;
  /** Rows may be in the trees whose owner is not: owners have to be looked up. */
  ownersInDoubt(): boolean;
}

/** Whether a row that stands in the trees exists for readers. */
export function isAlive(source: ReaderSource, table: AnyTable, row: unknown): boolean {
  const expiry = table.expiresAt?.(row);
  if (expiry !== undefined && expiry <= source.now()) return false;
  if (table.owners === undefined || !(table.ownersExpire || source.ownersInDoubt())) return true;
  return ownersAlive(source, table, row);
}

/** Whether every owner of a row exists. */
export function ownersAlive(source: ReaderSource, table: AnyTable, row: unknown): boolean {
  for (const owner of table.owners ?? []) {
    const ownerKey = indexOf(table, owner.index).entry(row);
    if (ownerKey === undefined) continue;
    const stored = source.trees(owner.table).rows.get(ownerKey);
    if (stored === undefined || !isAlive(source, owner.table, stored.row)) return false;
  }
  return true;
}

/** Reads in the trees of `source`. */
export function createReader(source: ReaderSource): Reader {
  const living = <Row>(table: AnyTable, stored: Stored<unknown> | undefined): Stored<Row> | undefined =>
    stored !== undefined && isAlive(source, table, stored.row) ? (stored as Stored<Row>) : undefined;

  return {
    get: (table, key) => living(table, source.trees(table).rows.get(key)),
    find(table, index, entry) {
      const trees = source.trees(table);
      const key = treeOf(trees, uniqueIndex(table, index)).get(entry);
      return key === undefined ? undefined : living(table, trees.rows.get(key));
    },
    list<Row, Index extends string>(table: Table<Row, Index>, index: Index, entry: string, page: Page = {}) {
      const trees = source.trees(table);
      const prefix = entry + SEPARATOR;
      const start = prefix + (page.after ?? '');
      const rows: Stored<Row>[] = [];
      for (const [indexKey, key] of treeOf(trees, plainIndex(table, index)).entries(start)) {
        if (rows.length === page.limit || !indexKey.startsWith(prefix)) break;
        const stored = key === page.after ? undefined : living<Row>(table, trees.rows.get(key));
        if (stored !== undefined) rows.push(stored);
      }
      return rows;
    },
    all<Row>(table: Table<Row, string>, page: Page = {}) {
      const rows: Stored<Row>[] = [];
      for (const [key, found] of source.trees(table).rows.entries(page.after)) {
        if (rows.length === page.limit) break;
        const stored = key === page.after ? undefined : living<Row>(table, found);
        if (stored !== undefined) rows.push(stored);
      }
      return rows;
    },
    count: (table) => source.trees(table).rows.size,
    first<Row, Index extends string>(table: Table<Row, Index>, index: Index, fromEntry = '') {
      const trees = source.trees(table);
      const tree = treeOf(trees, indexOf(table, index) as NamedIndex<unknown>);
      for (const [, key] of tree.entries(fromEntry)) {
        const stored = living<Row>(table, trees.rows.get(key));
        if (stored !== undefined) return stored;
      }
      return undefined;
    },
  };
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
