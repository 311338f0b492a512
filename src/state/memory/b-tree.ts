/**
 * A sorted map with string keys: a copy-on-write B+ tree. Cloning takes constant time. The first change of a path that
 * two clones share copies its nodes; later changes modify the copies in place.
 *
 * A general-purpose tree is slower in two ways: it calls a comparison function, and it reallocates the arrays of a node
 * right after copying them. Writes spend most of their time here. See docs/decisions/0008.
 *
 * Keys are ordered as by JavaScript's `<`, by UTF-16 code units.
 */

/** Keys of a leaf, or children of an inner node. Smaller nodes make paths longer; larger nodes cost more to copy. */
const NODE_MAX = 32;
/** A node that a deletion leaves with fewer is merged with a sibling if both fit into one node. */
const NODE_MERGE_BELOW = 8;
/** Keys in a loaded leaf. A full leaf would split at the first insertion. */
const NODE_LOAD_FILL = 28;

/**
 * A leaf has one value for each key and no children. An inner node has one more child than keys: `keys[i]` is greater
 * than every key of `children[i]` and not greater than any key of `children[i + 1]`.
 */
interface Node<Value> {
  /** The token of the tree that may change the node in place. A parent of such a node has the same token. */
  readonly token: object;
  keys: string[];
  values: Value[];
  children: Node<Value>[] | undefined;
}

/** The right half of a node that was split, and the key that separates the halves. */
interface Split<Value> {
  readonly key: string;
  readonly right: Node<Value>;
}

export class BTree<Value> {
  #root: Node<Value>;
  #size: number;
  #token: object = {};
  /** The split of the node that `#put` changed last, for its parent to insert. */
  #split: Split<Value> | undefined;

  private constructor(root: Node<Value>, size: number) {
    this.#root = root;
    this.#size = size;
  }

  static empty<Value>(): BTree<Value> {
    return new BTree<Value>(leaf(NO_TREE, [], []), 0);
  }

  /** Builds a tree in linear time. `keys` are strictly ascending; `values` are in the same order. */
  static load<Value>(keys: readonly string[], values: readonly Value[]): BTree<Value> {
    if (keys.length === 0) return BTree.empty();
    let level: Node<Value>[] = [];
    let lowest: string[] = [];
    for (const [from, to] of evenRanges(keys.length)) {
      level.push(leaf(NO_TREE, keys.slice(from, to), values.slice(from, to)));
      lowest.push(keys[from] as string);
    }
    while (level.length > 1) {
      const ranges = evenRanges(level.length);
      const parents = ranges.map(([from, to]) => inner(NO_TREE, lowest.slice(from + 1, to), level.slice(from, to)));
      lowest = ranges.map(([from]) => lowest[from] as string);
      level = parents;
    }
    return new BTree(level[0] as Node<Value>, keys.length);
  }

  get size(): number {
    return this.#size;
  }

  /** Returns a tree with the same content. Later changes of either tree do not affect the other. */
  clone(): BTree<Value> {
    this.#token = {};
    return new BTree(this.#root, this.#size);
  }

  get(key: string): Value | undefined {
    let node = this.#root;
    while (node.children !== undefined) node = node.children[childIndex(node.keys, key)] as Node<Value>;
    const at = lowerBound(node.keys, key);
    return node.keys[at] === key ? node.values[at] : undefined;
  }

  has(key: string): boolean {
    return this.get(key) !== undefined;
  }

  minKey(): string | undefined {
    let node = this.#root;
    while (node.children !== undefined) node = node.children[0] as Node<Value>;
    return node.keys[0];
  }

  /** Iterates over the entries in key order, from the first key not less than `from`. The tree must not change. */
  *entries(from = ''): Generator<readonly [string, Value]> {
    const path: Node<Value>[] = [];
    const places: number[] = [];
    let node = this.#root;
    let at = startPosition(node, from);
    for (;;) {
      while (node.children !== undefined) {
        path.push(node);
        places.push(at);
        node = node.children[at] as Node<Value>;
        at = startPosition(node, from);
      }
      for (; at < node.keys.length; at++) yield [node.keys[at] as string, node.values[at] as Value];
      do {
        const parent = path.pop();
        if (parent === undefined) return;
        node = parent;
        at = (places.pop() as number) + 1;
      } while (at === node.children?.length);
    }
  }

  set(key: string, value: Value): void {
    const root = this.#put(this.#root, key, value);
    const split = this.#split;
    this.#split = undefined;
    this.#root = split === undefined ? root : inner(this.#token, [split.key], [root, split.right]);
  }

  /** Deletes a key. @returns whether the key existed */
  delete(key: string): boolean {
    if (!this.has(key)) return false;
    let root = this.#remove(this.#root, key);
    while (root.children?.length === 1) root = root.children[0] as Node<Value>;
    // Deleting the last key leaves an inner node without children.
    this.#root = root.children?.length === 0 ? leaf(this.#token, [], []) : root;
    this.#size--;
    return true;
  }

  /** Sets a key below `node`. @returns the node that replaces it; its right half, if it was split, is in `#split` */
  #put(node: Node<Value>, key: string, value: Value): Node<Value> {
    const { children } = node;
    if (children === undefined) return this.#putInLeaf(node, key, value);
    const at = childIndex(node.keys, key);
    const child = children[at] as Node<Value>;
    const next = this.#put(child, key, value);
    const split = this.#split;
    if (next === child && split === undefined) return node;
    const parent = this.#writable(node);
    const siblings = parent.children as Node<Value>[];
    siblings[at] = next;
    if (split === undefined) return parent;
    insertAt(parent.keys, at, split.key);
    insertAt(siblings, at + 1, split.right);
    this.#split = undefined;
    if (siblings.length > NODE_MAX) {
      const half = at === siblings.length - 2 ? siblings.length - 1 : siblings.length >>> 1;
      const right = inner(this.#token, parent.keys.slice(half), siblings.slice(half));
      this.#split = { key: parent.keys[half - 1] as string, right };
      parent.keys = parent.keys.slice(0, half - 1);
      parent.children = siblings.slice(0, half);
    }
    return parent;
  }

  #putInLeaf(node: Node<Value>, key: string, value: Value): Node<Value> {
    const at = lowerBound(node.keys, key);
    if (node.keys[at] === key) {
      const writable = this.#writable(node);
      writable.values[at] = value;
      return writable;
    }
    this.#size++;
    if (node.keys.length === NODE_MAX) return this.#splitLeaf(node, at, key, value);
    if (node.token !== this.#token) {
      return leaf(this.#token, copyWithInserted(node.keys, at, key), copyWithInserted(node.values, at, value));
    }
    insertAt(node.keys, at, key);
    insertAt(node.values, at, value);
    return node;
  }

  /** Splits a full leaf in half. An insertion at its end keeps the leaf full, so ascending keys fill every leaf. */
  #splitLeaf({ keys, values }: Node<Value>, at: number, key: string, value: Value): Node<Value> {
    const half = at === NODE_MAX ? NODE_MAX : NODE_MAX >>> 1;
    const left = leaf(this.#token, keys.slice(0, half), values.slice(0, half));
    const right = leaf(this.#token, keys.slice(half), values.slice(half));
    const [side, place] = at <= half && half < NODE_MAX ? [left, at] : [right, at - half];
    insertAt(side.keys, place, key);
    insertAt(side.values, place, value);
    this.#split = { key: right.keys[0] as string, right };
    return left;
  }

  /** Removes an existing key below `node`. @returns the node that replaces it, which may be empty */
  #remove(node: Node<Value>, key: string): Node<Value> {
    const writable = this.#writable(node);
    if (writable.children === undefined) {
      const at = lowerBound(writable.keys, key);
      writable.keys.splice(at, 1);
      writable.values.splice(at, 1);
      return writable;
    }
    const at = childIndex(writable.keys, key);
    const child = this.#remove(writable.children[at] as Node<Value>, key);
    writable.children[at] = child;
    if (lengthOf(child) === 0) {
      writable.children.splice(at, 1);
      writable.keys.splice(Math.max(at - 1, 0), 1);
    } else if (lengthOf(child) < NODE_MERGE_BELOW) {
      if (!this.#mergeSiblings(writable, at)) this.#mergeSiblings(writable, at - 1);
    }
    return writable;
  }

  /** Merges the children at `at` and `at + 1` if they fit into one node. @returns whether they did */
  #mergeSiblings({ keys, children = [] }: Node<Value>, at: number): boolean {
    const [left, right] = [children[at], children[at + 1]];
    if (left === undefined || right === undefined || lengthOf(left) + lengthOf(right) > NODE_MAX) return false;
    const merged =
      left.children === undefined || right.children === undefined
        ? leaf(this.#token, [...left.keys, ...right.keys], [...left.values, ...right.values])
        : inner(this.#token, [...left.keys, keys[at] as string, ...right.keys], [...left.children, ...right.children]);
    children.splice(at, 2, merged);
    keys.splice(at, 1);
    return true;
  }

  /** Returns the node if this tree may change it in place, or a copy. */
  #writable(node: Node<Value>): Node<Value> {
    if (node.token === this.#token) return node;
    const { keys, values, children } = node;
    return { token: this.#token, keys: keys.slice(), values: values.slice(), children: children?.slice() };
  }
}

/** The token of nodes that no tree may change in place. */
const NO_TREE = {};

const leaf = <Value>(token: object, keys: string[], values: Value[]): Node<Value> => ({
  token,
  keys,
  values,
  children: undefined,
});

const inner = <Value>(token: object, keys: string[], children: Node<Value>[]): Node<Value> => ({
  token,
  keys,
  values: [],
  children,
});

const lengthOf = ({ keys, children }: Node<unknown>): number => children?.length ?? keys.length;

/** Returns the position in a node at which the keys not less than `key` start. */
const startPosition = ({ keys, children }: Node<unknown>, key: string): number =>
  children === undefined ? lowerBound(keys, key) : childIndex(keys, key);

/** Divides `length` items into ranges of at most NODE_LOAD_FILL, as evenly as possible. */
function evenRanges(length: number): [from: number, to: number][] {
  const count = Math.ceil(length / NODE_LOAD_FILL);
  return Array.from({ length: count }, (_, i) => [
    Math.floor((i * length) / count),
    Math.floor(((i + 1) * length) / count),
  ]);
}

/** Returns the position of the first key that is not less than `key`. */
function lowerBound(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((keys[middle] as string) < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns the position of the child whose subtree `key` belongs to. */
function childIndex(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((keys[middle] as string) <= key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Returns a copy of `list` with `element` inserted, in one allocation of the final length. */
function copyWithInserted<T>(list: readonly T[], at: number, element: T): T[] {
  const copy = new Array<T>(list.length + 1);
  for (let i = 0; i < at; i++) copy[i] = list[i] as T;
  copy[at] = element;
  for (let i = at; i < list.length; i++) copy[i + 1] = list[i] as T;
  return copy;
}

/** Inserts `element` in place. `splice` is not used because it allocates an array for the removed elements. */
function insertAt<T>(list: T[], at: number, element: T): void {
  list.push(element);
  for (let i = list.length - 1; i > at; i--) list[i] = list[i - 1] as T;
  list[at] = element;
}
