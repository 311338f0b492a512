/**
 * Tables, declared as data. A declaration describes the rows on disk and in memory. The state derives index entries,
 * change topics, owner checks, and expiry from it, so no caller maintains an index.
 */

/** A deeply read-only row. Rows are read-only because all readers share one object for each row. */
export type DeepReadonly<T> = T extends (infer E)[]
  ? readonly DeepReadonly<E>[]
  : T extends readonly (infer E)[]
    ? readonly DeepReadonly<E>[]
    : T extends object
      ? { readonly [K in keyof T]: DeepReadonly<T[K]> }
      : T;

/** A row with the indexes of the commits that created it and last changed it. */
export interface Stored<Row> {
  readonly row: DeepReadonly<Row>;
  readonly createIndex: number;
  readonly modifyIndex: number;
}

export interface IndexDefinition<Row> {
  /** Returns the entry of a row, or `undefined` to leave the row out of the index. */
  readonly entry: (row: DeepReadonly<Row>) => string | undefined;
  /** Whether an entry has at most one existing row. */
  readonly unique?: true;
  /** Whether each entry is a change topic, which remembers the index of its last change. */
  readonly watched?: true;
}

/**
 * An owner of a table's rows. An owned row exists only while the row of `table` exists whose key is its index entry.
 * The key of an owner must never be reused (an ID, not a name), because orphaned rows are dropped in slices and would
 * appear under the new owner until then. See [STATE-79].
 */
export interface OwnerDefinition<Indexes extends string> {
  readonly table: AnyTable;
  /** A plain (not unique) index of the owned table. Its entry is the primary key of the owner. */
  readonly index: Indexes;
}

/** A row of another table for which the rows of a table count, such as the organization of a team. */
export interface HolderDefinition<Row> {
  readonly table: AnyTable;
  /** Returns the primary key of the holder, which may be missing; `undefined`: the row does not count for `table`. */
  readonly key: (row: DeepReadonly<Row>) => string | undefined;
}

export interface RowFormats<Row> {
  /** The newest format. This version writes it once every live server reads it. */
  readonly version: number;
  /** Readers of older formats, by version. */
  readonly read?: Readonly<Record<number, (stored: unknown) => Row>>;
  /** Writers of older formats, by version, used while a live server reads no newer one. */
  readonly write?: Readonly<Record<number, (row: DeepReadonly<Row>) => unknown>>;
}

export interface TableDefinition<Row, Indexes extends string> {
  readonly name: string;
  readonly key: (row: DeepReadonly<Row>) => string;
  readonly formats: RowFormats<Row>;
  readonly indexes: Readonly<Record<Indexes, IndexDefinition<Row>>>;
  readonly owners?: readonly OwnerDefinition<NoInfer<Indexes>>[];
  /** The holders that the number of rows is limited for. A row counts toward the first that it names. See [STATE-114]. */
  readonly countsToward?: readonly HolderDefinition<Row>[];
  /** Returns the time, in milliseconds since 1970, from which on the row does not exist; `undefined`: never. */
  readonly expiresAt?: (row: DeepReadonly<Row>) => number | undefined;
  /** Whether rows are in the store only: appended by commits, read with `state.scan`, and not counted. */
  readonly storeOnly?: true;
  /** Whether rows contain secrets or their hashes. Exports contain such rows only encrypted. */
  readonly holdsSecrets?: true;
}

/** A declared table. `Row` is a plain JSON object; `Indexes` are the names of its secondary indexes. */
export interface Table<Row, Indexes extends string = string> extends TableDefinition<Row, Indexes> {
  /** The secondary indexes, by `NamedIndex.position`. */
  readonly indexList: readonly NamedIndex<Row>[];
  /** Whether an owner, or an owner of an owner, can expire. Then every read looks the owners up. */
  readonly ownersExpire: boolean;
}

export interface NamedIndex<Row> extends IndexDefinition<Row> {
  readonly name: string;
  /** The position in `Table.indexList` and in `TableIndexes.secondary`. */
  readonly position: number;
}

/** A table of any row type. */
// biome-ignore lint/suspicious/noExplicitAny: rows are handled opaquely here; a table is contravariant in its row.
export type AnyTable = Table<any, any>;

/** Separates the entry from the primary key in a plain index, and the parts of a topic. No key contains it. */
export const SEPARATOR = '\u0000';

/** Returns the smallest key above a key. */
export const keyAfter = (key: string): string => key + SEPARATOR;

/** The name of the index over `expiryEntry` that every table with `expiresAt` has. */
export const EXPIRY_INDEX = 'expiry';

/** Returns an index entry that sorts like the time: sixteen decimal digits. */
export function expiryEntry(timeMs: number): string {
  return String(Math.max(0, Math.floor(timeMs))).padStart(16, '0');
}

/** Declares a table: `defineTable<Row>()({ name, key, … })`. Two calls, so that TypeScript infers the index names. */
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

export interface Schema {
  /** All tables, owners and holders before the tables whose rows they own or hold. */
  readonly tables: readonly AnyTable[];
  readonly byName: ReadonlyMap<string, AnyTable>;
  /** The owned tables of each owner table, with the index of the owned table whose entries are the owners' keys. */
  readonly owned: ReadonlyMap<AnyTable, readonly { readonly table: AnyTable; readonly index: NamedIndex<unknown> }[]>;
}

/** Checks and orders tables. @throws TypeError on a contradictory declaration, which is a bug */
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
    for (const holder of table.countsToward ?? []) {
      if (byName.get(holder.table.name) !== holder.table)
        throw new TypeError(`holder '${holder.table.name}' is not in the schema`);
      visit(holder.table, [...path, table]);
    }
    ordered.push(table);
  };
  for (const table of tables) visit(table, []);
  return { tables: ordered, byName, owned };
}

/** Returns the index named `name`. @throws TypeError if the table has no such index, which is a bug */
export function indexOf<Row>(table: Table<Row, string>, name: string): NamedIndex<Row> {
  for (const index of table.indexList) if (index.name === name) return index;
  throw new TypeError(`table '${table.name}' has no index '${name}'`);
}
