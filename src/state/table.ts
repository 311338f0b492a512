/**
 * Tables as data. A table says what its rows look like on disk and in memory; everything else (trees, commits, waiting,
 * owners, expiry) follows from that, so no caller ever maintains an index by hand.
 */

/** A row and everything below it cannot be written to: what a reader holds is shared by all readers. */
export type DeepReadonly<T> = T extends (infer E)[]
  ? readonly DeepReadonly<E>[]
  : T extends readonly (infer E)[]
    ? readonly DeepReadonly<E>[]
    : T extends object
      ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
      : T;

/** A row with the indexes of the commits that made and last changed it. */
export interface Stored<Row> {
  readonly row: DeepReadonly<Row>;
  readonly createIndex: number;
  readonly modifyIndex: number;
}

/** A secondary index: which entry a row stands under; `undefined` leaves the row out. */
export interface IndexDefinition<Row> {
  readonly entry: (row: DeepReadonly<Row>) => string | undefined;
  /** At most one living row an entry. */
  readonly unique?: true;
  /** Entries can be waited for: each remembers the index of its last change. A scope is such an index with few entries. */
  readonly watched?: true;
}

/**
 * A row of `table` under the entry of the named index must exist, or the owned row does not exist either.
 * The owner's key must never be used again (an id, not a name): what the removed row owned is dropped bit by bit, and
 * would be found under the new one meanwhile.
 */
export interface OwnerDefinition<Indexes extends string> {
  readonly table: AnyTable;
  /** A plain index of the owned table, whose entry is the primary key of the owner. */
  readonly index: Indexes;
}

/** How rows are written, and how rows that older versions wrote are read. */
export interface RowFormats<Row> {
  /** The format that this version writes as soon as every live node reads it. */
  readonly version: number;
  /** Readers of older formats, by version. */
  readonly read?: Readonly<Record<number, (stored: unknown) => Row>>;
  /** Writers of older formats, by version, for as long as a node lives that reads no newer one. */
  readonly write?: Readonly<Record<number, (row: DeepReadonly<Row>) => unknown>>;
}

export interface TableDefinition<Row, Indexes extends string> {
  readonly name: string;
  readonly key: (row: DeepReadonly<Row>) => string;
  readonly formats: RowFormats<Row>;
  readonly indexes: Readonly<Record<Indexes, IndexDefinition<Row>>>;
  readonly owners?: readonly OwnerDefinition<NoInfer<Indexes>>[];
  /** Milliseconds since 1970 from which on the row does not exist for anybody; `undefined`: never. */
  readonly expiresAt?: (row: DeepReadonly<Row>) => number | undefined;
  /** Kept in the store only: appended in commits, read with `state.scan`, neither in memory nor counted. */
  readonly storeOnly?: true;
  /** Rows hold secrets or what stands for them: they are exported only encrypted. */
  readonly holdsSecrets?: true;
}

/** A declared table. `Row` is a plain JSON object; `Indexes` are the names of its secondary indexes. */
export interface Table<Row, Indexes extends string = string> extends TableDefinition<Row, Indexes> {
  /** The indexes in the order in which the trees are kept. */
  readonly indexList: readonly NamedIndex<Row>[];
  /** An owner, or an owner of an owner, can expire: then owners are looked up on every read. */
  readonly ownersExpire: boolean;
}

export interface NamedIndex<Row> extends IndexDefinition<Row> {
  readonly name: string;
  /** Where its tree stands among the trees of the table. */
  readonly position: number;
}

/** A table whose row type does not matter where it is handled. */
// biome-ignore lint/suspicious/noExplicitAny: rows are handled opaquely here; a table is contravariant in its row.
export type AnyTable = Table<any, any>;

/** Separates an entry from the primary key in a plain index, and the parts of a topic; no key or entry contains it. */
export const SEPARATOR = '\u0000';

/** The index that every table with `expiresAt` has: entries are `expiryEntry` of that time. */
export const EXPIRY_INDEX = 'expiry';

/** Sorts like the number: sixteen decimal digits. */
export function expiryEntry(timeMs: number): string {
  return String(Math.max(0, Math.floor(timeMs))).padStart(16, '0');
}

/**
 * Declares a table: `defineTable<Row>()({ name, key, formats, indexes })`; called in two steps so that the row type is
 * given and the names of the indexes are inferred.
 */
export function defineTable<Row extends object>() {
  return <const Indexes extends string>(definition: TableDefinition<Row, Indexes>): Table<Row, Indexes> => {
    const named: NamedIndex<Row>[] = [];
    for (const [name, index] of Object.entries<IndexDefinition<Row>>(definition.indexes)) {
      named.push({ ...index, name, position: named.length });
    }
    const { expiresAt } = definition;
    if (expiresAt !== undefined) {
      const entry = (row: DeepReadonly<Row>): string | undefined => {
        const time = expiresAt(row);
        return time === undefined ? undefined : expiryEntry(time);
      };
      named.push({ entry, name: EXPIRY_INDEX, position: named.length });
    }
    const ownersExpire = (definition.owners ?? []).some(
      ({ table }) => table.ownersExpire || table.expiresAt !== undefined,
    );
    return Object.freeze({ ...definition, indexList: named, ownersExpire });
  };
}

/** The tables of a state, by name, owners before what they own. */
export interface Schema {
  readonly tables: readonly AnyTable[];
  readonly byName: ReadonlyMap<string, AnyTable>;
  /** Which tables a table's rows own, with the index of the owned table that leads to them. */
  readonly owned: ReadonlyMap<AnyTable, readonly { readonly table: AnyTable; readonly index: NamedIndex<unknown> }[]>;
}

/** Checks and orders tables. @throws TypeError on a declaration that contradicts itself; a mistake in code. */
export function defineSchema(tables: readonly AnyTable[]): Schema {
  const byName = new Map<string, AnyTable>();
  for (const table of tables) {
    if (byName.has(table.name)) throw new TypeError(`table '${table.name}' is declared twice`);
    byName.set(table.name, table);
  }
  const ordered: AnyTable[] = [];
  const owned = new Map<AnyTable, { table: AnyTable; index: NamedIndex<unknown> }[]>();
  const visit = (table: AnyTable, path: readonly AnyTable[]): void => {
    if (path.includes(table)) throw new TypeError(`table '${table.name}' owns itself`);
    if (ordered.includes(table)) return;
    for (const owner of table.owners ?? []) {
      if (byName.get(owner.table.name) !== owner.table)
        throw new TypeError(`owner '${owner.table.name}' is not in the schema`);
      visit(owner.table, [...path, table]);
      const index = indexOf(table, owner.index);
      if (index.unique)
        throw new TypeError(`index '${owner.index}' of '${table.name}' leads to an owner and must not be unique`);
      owned.set(owner.table, [...(owned.get(owner.table) ?? []), { table, index }]);
    }
    ordered.push(table);
  };
  for (const table of tables) visit(table, []);
  return { tables: ordered, byName, owned };
}

/** The named index. @throws TypeError when there is none; a mistake in code. */
export function indexOf<Row>(table: Table<Row, string>, name: string): NamedIndex<Row> {
  for (const index of table.indexList) if (index.name === name) return index;
  throw new TypeError(`table '${table.name}' has no index '${name}'`);
}
