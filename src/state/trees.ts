/**
 * The rows of one table in memory: a tree by primary key and a tree for each index, all sharing the same row objects.
 * Trees are copy-on-write: `cloneTrees` takes no time, and whoever holds the original never sees a change.
 */
import BTreeModule from 'sorted-btree';
import { bulkLoad } from 'sorted-btree/extended/bulkLoad.js';
import { type AnyTable, type NamedIndex, SEPARATOR, type Stored } from './table.ts';

// The package is CommonJS: its default export arrives as a member of the module object.
const BTree = BTreeModule.default;
type Tree = BTreeModule.default<string, Stored<unknown>>;

const NODE_SIZE_MAX = 32;

export interface TableTrees {
  readonly rows: Tree;
  /** By `NamedIndex.position`. Keys: the entry alone where unique, else entry, separator, primary key. */
  readonly indexes: readonly Tree[];
}

/** Thrown where a change would put two living rows under one entry of a unique index; callers look first. */
export class UniqueError extends Error {
  override readonly name = 'UniqueError';
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const emptyTree = (): Tree => new BTree<string, Stored<unknown>>(undefined, compare, NODE_SIZE_MAX);

/** Trees without rows. */
export function emptyTrees(table: AnyTable): TableTrees {
  return { rows: emptyTree(), indexes: table.indexList.map(emptyTree) };
}

/** Trees that can be changed while the original stays as it is. */
export function cloneTrees(trees: TableTrees): TableTrees {
  return { rows: trees.rows.clone(), indexes: trees.indexes.map((tree) => tree.clone()) };
}

/** The key under which a row stands in an index tree; `undefined`: it is not in that index. */
export function indexKey(index: NamedIndex<unknown>, key: string, row: unknown): string | undefined {
  const entry = index.entry(row as object);
  if (entry === undefined || index.unique) return entry;
  return entry + SEPARATOR + key;
}

/**
 * Replaces the row under `key` in every tree; `next: undefined` removes it.
 * Everything that can throw (entry functions, the uniqueness check) runs before the first tree is changed.
 * @param evict is asked about a row that stands in the way in a unique index: true when it no longer counts and may go
 * @returns what stood there before
 * @throws UniqueError
 */
export function assign(
  table: AnyTable,
  trees: TableTrees,
  key: string,
  next: Stored<unknown> | undefined,
  evict?: (occupant: Stored<unknown>) => boolean,
): Stored<unknown> | undefined {
  const before = trees.rows.get(key);
  const moves: (readonly [Tree, string | undefined, string | undefined])[] = [];
  for (const index of table.indexList) {
    const tree = treeOf(trees, index);
    const from = before === undefined ? undefined : indexKey(index, key, before.row);
    const to = next === undefined ? undefined : indexKey(index, key, next.row);
    if (!index.unique && to !== undefined && to.indexOf(SEPARATOR) !== to.length - key.length - 1) {
      throw new TypeError(`index '${index.name}' of table '${table.name}' has an entry with a NUL in it`);
    }
    if (index.unique && to !== undefined && to !== from) {
      const occupant = tree.get(to);
      if (occupant !== undefined && !evict?.(occupant)) {
        throw new UniqueError(`table '${table.name}' has another row under '${to}' of its unique index '${index.name}'`);
      }
    }
    if (from !== undefined || to !== undefined) moves.push([tree, from, to]);
  }
  if (next === undefined) trees.rows.delete(key);
  else trees.rows.set(key, next);
  for (const [tree, from, to] of moves) {
    if (from !== undefined && from !== to) tree.delete(from);
    if (to !== undefined && next !== undefined) tree.set(to, next);
  }
  return before;
}

/** The tree of an index. */
export function treeOf(trees: TableTrees, index: NamedIndex<unknown>): Tree {
  const tree = trees.indexes[index.position];
  if (tree === undefined) throw new TypeError(`index '${index.name}' has no tree`);
  return tree;
}

/** Rows as they are loaded, in the order of their keys. */
export interface LoadedRows {
  readonly keys: string[];
  readonly rows: Stored<unknown>[];
}

/** Builds the tree by primary key in linear time; sorts first where the store's byte order differs from ours. */
export function buildRowTree(loaded: LoadedRows): Tree {
  return bulk(loaded.keys, loaded.rows);
}

/** Builds one index tree over rows that are loaded. */
export function buildIndexTree(index: NamedIndex<unknown>, loaded: LoadedRows): Tree {
  const keys: string[] = [];
  const rows: Stored<unknown>[] = [];
  for (let i = 0; i < loaded.rows.length; i++) {
    const stored = loaded.rows[i] as Stored<unknown>;
    const key = indexKey(index, loaded.keys[i] as string, stored.row);
    if (key === undefined) continue;
    keys.push(key);
    rows.push(stored);
  }
  return bulk(keys, rows);
}

function bulk(keys: string[], rows: Stored<unknown>[]): Tree {
  if (keys.length === 0) return emptyTree();
  let sorted = true;
  for (let i = 1; i < keys.length && sorted; i++) sorted = (keys[i - 1] as string) < (keys[i] as string);
  if (sorted) return bulkLoad(keys, rows, NODE_SIZE_MAX, compare);
  const order = keys.map((_, i) => i).sort((a, b) => compare(keys[a] as string, keys[b] as string));
  return bulkLoad(
    order.map((i) => keys[i] as string),
    order.map((i) => rows[i] as Stored<unknown>),
    NODE_SIZE_MAX,
    compare,
  );
}
