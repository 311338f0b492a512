/**
 * The rows of one table in memory: a B-tree of rows by primary key, and one B-tree per secondary index from its entries
 * to primary keys. Both are copy-on-write: cloning takes constant time, and a clone never affects its original.
 *
 * Copying tree paths is the main cost of a write. A change that moves no index entry, the usual case, touches only the
 * primary index.
 */
import { StateError } from '../errors.ts';
import { type AnyTable, type NamedIndex, SEPARATOR, type Stored } from '../table.ts';
import { BTree } from './b-tree.ts';
import { rowBytes } from './row-size.ts';

type PrimaryIndex = BTree<Stored<unknown>>;
/** Values are primary keys. Keys: the entry if unique; otherwise entry, separator, primary key. */
type SecondaryIndex = BTree<string>;

export interface TableIndexes {
  readonly rows: PrimaryIndex;
  /** By `NamedIndex.position`. */
  readonly secondary: readonly SecondaryIndex[];
  /** The estimated heap memory of the rows with their index entries. `replaceRow` maintains it. */
  bytes: number;
}

/** Thrown when a change would put a second existing row under one entry of a unique index. */
export class UniqueError extends Error {
  override readonly name = 'UniqueError';
}

export function emptyTableIndexes(table: AnyTable): TableIndexes {
  return { rows: BTree.empty(), secondary: table.indexList.map(() => BTree.empty<string>()), bytes: 0 };
}

export function cloneTableIndexes({ rows, secondary, bytes }: TableIndexes): TableIndexes {
  return { rows: rows.clone(), secondary: secondary.map((tree) => tree.clone()), bytes };
}

/** Returns the key in a secondary index. @throws TypeError if the entry contains NUL */
function treeKey(index: NamedIndex<unknown>, key: string, entry: string): string {
  if (index.unique) return entry;
  if (entry.includes(SEPARATOR)) throw new TypeError(`index '${index.name}' has an entry with a NUL in it`);
  // `join` makes a flat string. A concatenation would keep a rope next to the string that the first comparison
  // flattens.
  return [entry, key].join(SEPARATOR);
}

/** The change of one secondary index that a change of a row requires. */
interface EntryMove {
  readonly index: NamedIndex<unknown>;
  readonly tree: SecondaryIndex;
  readonly from: string | undefined;
  readonly to: string | undefined;
}

/** A row and the row that replaced it, with their estimated bytes in the heap. Without a row, they are 0. */
export interface RowReplacement {
  readonly previous: Stored<unknown> | undefined;
  readonly next: Stored<unknown> | undefined;
  readonly previousBytes: number;
  readonly nextBytes: number;
}

/** Sets or, with `next: undefined`, deletes the row under `key`. See `replaceRow`. */
export function setRow(
  table: AnyTable,
  indexes: TableIndexes,
  key: string,
  next: Stored<unknown> | undefined,
  evict?: (occupant: Stored<unknown>) => boolean,
): RowReplacement {
  return replaceRow(table, indexes, key, indexes.rows.get(key), next, evict);
}

/**
 * Replaces `previous`, the row under `key`, in every index; `next: undefined` deletes it. Everything that can throw
 * (the entry functions and the uniqueness check) runs before the first index changes.
 * @param evict is called with a row that occupies a unique entry; returns true if the row no longer exists for readers,
 *   after deleting it
 * @throws UniqueError
 */
export function replaceRow(
  table: AnyTable,
  indexes: TableIndexes,
  key: string,
  previous: Stored<unknown> | undefined,
  next: Stored<unknown> | undefined,
  evict?: (occupant: Stored<unknown>) => boolean,
): RowReplacement {
  const moves = entryMoves(table, indexes, key, previous, next);
  for (const { index, tree, to } of moves) {
    const occupantKey = index.unique && to !== undefined ? tree.get(to) : undefined;
    const occupant = occupantKey === undefined ? undefined : indexes.rows.get(occupantKey);
    if (occupant !== undefined && !evict?.(occupant)) {
      throw new UniqueError(`table '${table.name}' has another row under '${to}' of its unique index '${index.name}'`);
    }
  }
  if (next === undefined) indexes.rows.delete(key);
  else indexes.rows.set(key, next);
  const previousBytes = optionalRowBytes(table, key, previous);
  const nextBytes = optionalRowBytes(table, key, next);
  indexes.bytes += nextBytes - previousBytes;
  for (const { tree, from, to } of moves) {
    if (from !== undefined) tree.delete(from);
    if (to !== undefined) tree.set(to, key);
  }
  return { previous, next, previousBytes, nextBytes };
}

const optionalRowBytes = (table: AnyTable, key: string, stored: Stored<unknown> | undefined): number =>
  stored === undefined ? 0 : rowBytes(table, key, stored);

const NO_MOVES: readonly EntryMove[] = [];

/** Returns the index entries that change. Allocates nothing if none does, as in most changes of a row. */
function entryMoves(
  table: AnyTable,
  indexes: TableIndexes,
  key: string,
  previous: Stored<unknown> | undefined,
  next: Stored<unknown> | undefined,
): readonly EntryMove[] {
  let moves: EntryMove[] | undefined;
  for (const index of table.indexList) {
    const from = previous === undefined ? undefined : index.entry(previous.row);
    const to = next === undefined ? undefined : index.entry(next.row);
    if (from === to) continue;
    moves ??= [];
    moves.push({
      index,
      tree: secondaryIndex(indexes, index),
      from: from === undefined ? undefined : treeKey(index, key, from),
      to: to === undefined ? undefined : treeKey(index, key, to),
    });
  }
  return moves ?? NO_MOVES;
}

export function secondaryIndex(indexes: TableIndexes, index: NamedIndex<unknown>): SecondaryIndex {
  const tree = indexes.secondary[index.position];
  if (tree === undefined) throw new TypeError(`index '${index.name}' is not in memory`);
  return tree;
}

/** The loaded rows of one table with their keys, in the store's key order. */
export interface LoadedRows {
  readonly keys: string[];
  readonly rows: Stored<unknown>[];
}

/** Builds the primary index in linear time, plus a sort if the store's byte order differs from the B-tree's order. */
export function buildPrimaryIndex(loaded: LoadedRows): PrimaryIndex {
  return loadTree(loaded.keys, loaded.rows, 'in a table');
}

export function buildSecondaryIndex(index: NamedIndex<unknown>, loaded: LoadedRows): SecondaryIndex {
  const treeKeys: string[] = [];
  const keys: string[] = [];
  for (let i = 0; i < loaded.rows.length; i++) {
    const key = loaded.keys[i] as string;
    const entry = index.entry((loaded.rows[i] as Stored<unknown>).row as object);
    if (entry === undefined) continue;
    treeKeys.push(treeKey(index, key, entry));
    keys.push(key);
  }
  return loadTree(treeKeys, keys, `in index '${index.name}'`);
}

/** @throws StateError `corrupt` if two rows have one key, because something other than Accord changed the store */
function loadTree<Value>(keys: string[], values: Value[], what: string): BTree<Value> {
  if (isStrictlyAscending(keys)) return BTree.load(keys, values);
  const order = keys.map((_, i) => i).sort((a, b) => ((keys[a] as string) < (keys[b] as string) ? -1 : 1));
  const sorted = order.map((i) => keys[i] as string);
  if (!isStrictlyAscending(sorted)) throw new StateError('corrupt', `two rows have the same key ${what}`);
  return BTree.load(
    sorted,
    order.map((i) => values[i] as Value),
  );
}

function isStrictlyAscending(keys: readonly string[]): boolean {
  for (let i = 1; i < keys.length; i++) if ((keys[i - 1] as string) >= (keys[i] as string)) return false;
  return true;
}
