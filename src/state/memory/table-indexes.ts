/**
 * The rows of one table in memory: a tree of them by primary key, and for each index a tree that leads to that key.
 * A change that moves no index entry, as most do, touches the first tree alone: copying paths is what writes cost.
 * Trees are copy-on-write: `cloneTrees` takes no time, and whoever holds the original never sees a change.
 */
import { StateError } from '../errors.ts';
import { type AnyTable, type NamedIndex, SEPARATOR, type Stored } from '../table.ts';
import { StringTree } from './b-tree.ts';

type RowTree = StringTree<Stored<unknown>>;
/** From an index key to the primary key. */
type IndexTree = StringTree<string>;

export interface TableTrees {
  readonly rows: RowTree;
  /** By `NamedIndex.position`. Keys: the entry alone where unique, else entry, separator, primary key. */
  readonly indexes: readonly IndexTree[];
}

/** Thrown where a change would put two living rows under one entry of a unique index; callers look first. */
export class UniqueError extends Error {
  override readonly name = 'UniqueError';
}

/** Trees without rows. */
export function emptyTrees(table: AnyTable): TableTrees {
  return { rows: StringTree.empty(), indexes: table.indexList.map(() => StringTree.empty<string>()) };
}

/** Trees that can be changed while the original stays as it is. */
export function cloneTrees(trees: TableTrees): TableTrees {
  return { rows: trees.rows.clone(), indexes: trees.indexes.map((tree) => tree.clone()) };
}

/** The key under which an entry of a row stands in an index tree. @throws TypeError for an entry with a NUL in it */
function indexKey(index: NamedIndex<unknown>, key: string, entry: string): string {
  if (index.unique) return entry;
  if (entry.includes(SEPARATOR)) throw new TypeError(`index '${index.name}' has an entry with a NUL in it`);
  // Joined, not added: a sum would keep a node of its parts beside the text that the first comparison makes of it.
  return [entry, key].join(SEPARATOR);
}

interface Move {
  readonly index: NamedIndex<unknown>;
  readonly tree: IndexTree;
  readonly from: string | undefined;
  readonly to: string | undefined;
}

/** As `replace`, for who does not know what stands under `key`. @returns that @throws UniqueError */
export function assign(
  table: AnyTable,
  trees: TableTrees,
  key: string,
  next: Stored<unknown> | undefined,
  evict?: (occupant: Stored<unknown>) => boolean,
): Stored<unknown> | undefined {
  const before = trees.rows.get(key);
  replace(table, trees, key, before, next, evict);
  return before;
}

/**
 * Replaces `before`, which stands under `key`, in every tree; `next: undefined` removes it.
 * Everything that can throw (entry functions, the uniqueness check) runs before the first tree is changed.
 * @param evict is asked about a row that stands in the way in a unique index: true when it no longer counts and is gone
 * @throws UniqueError
 */
export function replace(
  table: AnyTable,
  trees: TableTrees,
  key: string,
  before: Stored<unknown> | undefined,
  next: Stored<unknown> | undefined,
  evict?: (occupant: Stored<unknown>) => boolean,
): void {
  const moves = plannedMoves(table, trees, key, before, next);
  for (const { index, tree, to } of moves) {
    const occupantKey = index.unique && to !== undefined ? tree.get(to) : undefined;
    const occupant = occupantKey === undefined ? undefined : trees.rows.get(occupantKey);
    if (occupant !== undefined && !evict?.(occupant)) {
      throw new UniqueError(`table '${table.name}' has another row under '${to}' of its unique index '${index.name}'`);
    }
  }
  if (next === undefined) trees.rows.delete(key);
  else trees.rows.set(key, next);
  for (const { tree, from, to } of moves) {
    if (from !== undefined) tree.delete(from);
    if (to !== undefined) tree.set(to, key);
  }
}

const NO_MOVES: readonly Move[] = [];

/** The index entries that change; none, as for most changes of a row, costs nothing. */
function plannedMoves(
  table: AnyTable,
  trees: TableTrees,
  key: string,
  before: Stored<unknown> | undefined,
  next: Stored<unknown> | undefined,
): readonly Move[] {
  let moves: Move[] | undefined;
  for (const index of table.indexList) {
    const from = before === undefined ? undefined : index.entry(before.row);
    const to = next === undefined ? undefined : index.entry(next.row);
    if (from === to) continue;
    moves ??= [];
    moves.push({
      index,
      tree: treeOf(trees, index),
      from: from === undefined ? undefined : indexKey(index, key, from),
      to: to === undefined ? undefined : indexKey(index, key, to),
    });
  }
  return moves ?? NO_MOVES;
}

/** The tree of an index. */
export function treeOf(trees: TableTrees, index: NamedIndex<unknown>): IndexTree {
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
export function buildRowTree(loaded: LoadedRows): RowTree {
  return bulk(loaded.keys, loaded.rows, 'of a table');
}

/** Builds one index tree over rows that are loaded. */
export function buildIndexTree(index: NamedIndex<unknown>, loaded: LoadedRows): IndexTree {
  const indexKeys: string[] = [];
  const keys: string[] = [];
  for (let i = 0; i < loaded.rows.length; i++) {
    const key = loaded.keys[i] as string;
    const entry = index.entry((loaded.rows[i] as Stored<unknown>).row as object);
    if (entry === undefined) continue;
    indexKeys.push(indexKey(index, key, entry));
    keys.push(key);
  }
  return bulk(indexKeys, keys, `of index '${index.name}'`);
}

/** @throws StateError `corrupt` where two have one key: somebody has changed the store by other means than writes */
function bulk<Value>(keys: string[], values: Value[], what: string): StringTree<Value> {
  if (rise(keys)) return StringTree.load(keys, values);
  const order = keys.map((_, i) => i).sort((a, b) => ((keys[a] as string) < (keys[b] as string) ? -1 : 1));
  const sorted = order.map((i) => keys[i] as string);
  if (!rise(sorted)) throw new StateError('corrupt', `two rows stand under one key ${what}`);
  return StringTree.load(
    sorted,
    order.map((i) => values[i] as Value),
  );
}

function rise(keys: readonly string[]): boolean {
  for (let i = 1; i < keys.length; i++) if ((keys[i - 1] as string) >= (keys[i] as string)) return false;
  return true;
}
