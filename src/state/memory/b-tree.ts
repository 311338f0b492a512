/**
 * A sorted map of texts: a B+ tree that is copied where it is changed. `clone` takes no time; of a path that a clone and
 * its original share, the first change on either side copies the nodes, and later ones change the copies in place.
 *
 * Written here because this is where writes spend most of their time: a general tree takes its order as a function, and
 * grows the arrays of a node right after it has copied them. See docs/decisions/0008.
 *
 * Order is that of JavaScript's `<`: UTF-16 code units.
 */

import { childAt, firstNotBelow, insertAt, insertedAt } from './sorted-keys.ts';

/** Keys of a leaf, children of an inner node. Smaller ones make paths longer, larger ones cost more to copy. */
const NODE_MAX = 32;
/** A node that a removal leaves with fewer is joined with a neighbour, where both fit into one. */
const NODE_SMALL = 8;
/** Loaded leaves have room: a full one would divide at the first key that comes to it. */
const NODE_LOADED = 28;

/**
 * A leaf has as many values as keys and no children. An inner node has one child more than keys: `keys[i]` is not above
 * any key of `children[i + 1]`, and above every key of `children[i]`.
 */
interface Node<Value> {
  /** Who may change it in place: the tree whose current token this is. A node's parent belongs to whom it belongs. */
  readonly owner: object;
  keys: string[];
  values: Value[];
  children: Node<Value>[] | undefined;
}

/** A node that divided: its right half, and the key that parts the two. */
interface Divided<Value> {
  readonly key: string;
  readonly right: Node<Value>;
}

export class StringTree<Value> {
  #root: Node<Value>;
  #size: number;
  #owner: object = {};
  /** What the node that was changed last leaves its parent to take in. */
  #divided: Divided<Value> | undefined;

  private constructor(root: Node<Value>, size: number) {
    this.#root = root;
    this.#size = size;
  }

  static empty<Value>(): StringTree<Value> {
    return new StringTree<Value>(leaf(SHARED, [], []), 0);
  }

  /** In linear time. `keys` rise, without equals; `values` in step. */
  static load<Value>(keys: readonly string[], values: readonly Value[]): StringTree<Value> {
    if (keys.length === 0) return StringTree.empty();
    let level: Node<Value>[] = [];
    let lowest: string[] = [];
    for (const [from, to] of evenParts(keys.length)) {
      level.push(leaf(SHARED, keys.slice(from, to), values.slice(from, to)));
      lowest.push(keys[from] as string);
    }
    while (level.length > 1) {
      const parts = evenParts(level.length);
      const above = parts.map(([from, to]) => inner(SHARED, lowest.slice(from + 1, to), level.slice(from, to)));
      lowest = parts.map(([from]) => lowest[from] as string);
      level = above;
    }
    return new StringTree(level[0] as Node<Value>, keys.length);
  }

  get size(): number {
    return this.#size;
  }

  /** Another tree with the same content: neither sees what is done to the other. */
  clone(): StringTree<Value> {
    this.#owner = {};
    return new StringTree(this.#root, this.#size);
  }

  get(key: string): Value | undefined {
    let node = this.#root;
    while (node.children !== undefined) node = node.children[childAt(node.keys, key)] as Node<Value>;
    const at = firstNotBelow(node.keys, key);
    return node.keys[at] === key ? node.values[at] : undefined;
  }

  has(key: string): boolean {
    return this.get(key) !== undefined;
  }

  /** The smallest key. */
  minKey(): string | undefined {
    let node = this.#root;
    while (node.children !== undefined) node = node.children[0] as Node<Value>;
    return node.keys[0];
  }

  /** Pairs in the order of their keys, from the first key that is not below `from`. Not while the tree is changed. */
  *entries(from = ''): Generator<readonly [string, Value]> {
    const path: Node<Value>[] = [];
    const places: number[] = [];
    let node = this.#root;
    let at = firstPlace(node, from);
    for (;;) {
      while (node.children !== undefined) {
        path.push(node);
        places.push(at);
        node = node.children[at] as Node<Value>;
        at = firstPlace(node, from);
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
    const divided = this.#divided;
    this.#divided = undefined;
    this.#root = divided === undefined ? root : inner(this.#owner, [divided.key], [root, divided.right]);
  }

  /** @returns whether it was there */
  delete(key: string): boolean {
    if (!this.has(key)) return false;
    let root = this.#remove(this.#root, key);
    while (root.children?.length === 1) root = root.children[0] as Node<Value>;
    // An inner node without children is what is left of a tree that lost its last key.
    this.#root = root.children?.length === 0 ? leaf(this.#owner, [], []) : root;
    this.#size--;
    return true;
  }

  /** @returns what stands in the place of `node` afterwards, with `#divided` beside it */
  #put(node: Node<Value>, key: string, value: Value): Node<Value> {
    const { children } = node;
    if (children === undefined) return this.#putInLeaf(node, key, value);
    const at = childAt(node.keys, key);
    const child = children[at] as Node<Value>;
    const next = this.#put(child, key, value);
    const divided = this.#divided;
    if (next === child && divided === undefined) return node;
    const own = this.#own(node);
    const ownChildren = own.children as Node<Value>[];
    ownChildren[at] = next;
    if (divided === undefined) return own;
    insertAt(own.keys, at, divided.key);
    insertAt(ownChildren, at + 1, divided.right);
    this.#divided = undefined;
    if (ownChildren.length > NODE_MAX) {
      const half = at === ownChildren.length - 2 ? ownChildren.length - 1 : ownChildren.length >>> 1;
      const right = inner(this.#owner, own.keys.slice(half), ownChildren.slice(half));
      this.#divided = { key: own.keys[half - 1] as string, right };
      own.keys = own.keys.slice(0, half - 1);
      own.children = ownChildren.slice(0, half);
    }
    return own;
  }

  #putInLeaf(node: Node<Value>, key: string, value: Value): Node<Value> {
    const at = firstNotBelow(node.keys, key);
    if (node.keys[at] === key) {
      const own = this.#own(node);
      own.values[at] = value;
      return own;
    }
    this.#size++;
    if (node.keys.length === NODE_MAX) return this.#divideLeaf(node, at, key, value);
    if (node.owner !== this.#owner) {
      return leaf(this.#owner, insertedAt(node.keys, at, key), insertedAt(node.values, at, value));
    }
    insertAt(node.keys, at, key);
    insertAt(node.values, at, value);
    return node;
  }

  /** Keys that come in their order leave full leaves behind. */
  #divideLeaf({ keys, values }: Node<Value>, at: number, key: string, value: Value): Node<Value> {
    const half = at === NODE_MAX ? NODE_MAX : NODE_MAX >>> 1;
    const left = leaf(this.#owner, keys.slice(0, half), values.slice(0, half));
    const right = leaf(this.#owner, keys.slice(half), values.slice(half));
    const [side, place] = at <= half && half < NODE_MAX ? [left, at] : [right, at - half];
    insertAt(side.keys, place, key);
    insertAt(side.values, place, value);
    this.#divided = { key: right.keys[0] as string, right };
    return left;
  }

  /** Takes out a key that is there. @returns what stands in the place of `node` afterwards; it may be empty */
  #remove(node: Node<Value>, key: string): Node<Value> {
    const own = this.#own(node);
    if (own.children === undefined) {
      const at = firstNotBelow(own.keys, key);
      own.keys.splice(at, 1);
      own.values.splice(at, 1);
      return own;
    }
    const at = childAt(own.keys, key);
    const child = this.#remove(own.children[at] as Node<Value>, key);
    own.children[at] = child;
    if (lengthOf(child) === 0) {
      own.children.splice(at, 1);
      own.keys.splice(Math.max(at - 1, 0), 1);
    } else if (lengthOf(child) < NODE_SMALL) {
      if (!this.#join(own, at)) this.#join(own, at - 1);
    }
    return own;
  }

  /** Makes one of the children `at` and after it, where both fit into one. @returns whether they did */
  #join({ keys, children = [] }: Node<Value>, at: number): boolean {
    const [left, right] = [children[at], children[at + 1]];
    if (left === undefined || right === undefined || lengthOf(left) + lengthOf(right) > NODE_MAX) return false;
    const joined =
      left.children === undefined || right.children === undefined
        ? leaf(this.#owner, [...left.keys, ...right.keys], [...left.values, ...right.values])
        : inner(this.#owner, [...left.keys, keys[at] as string, ...right.keys], [...left.children, ...right.children]);
    children.splice(at, 2, joined);
    keys.splice(at, 1);
    return true;
  }

  /** The node itself where this tree may change it, a copy otherwise. */
  #own(node: Node<Value>): Node<Value> {
    if (node.owner === this.#owner) return node;
    const { keys, values, children } = node;
    return { owner: this.#owner, keys: keys.slice(), values: values.slice(), children: children?.slice() };
  }
}

/** The owner of nodes that no tree may change in place. */
const SHARED = {};

const leaf = <Value>(owner: object, keys: string[], values: Value[]): Node<Value> => ({
  owner,
  keys,
  values,
  children: undefined,
});

const inner = <Value>(owner: object, keys: string[], children: Node<Value>[]): Node<Value> => ({
  owner,
  keys,
  values: [],
  children,
});

const lengthOf = ({ keys, children }: Node<unknown>): number => children?.length ?? keys.length;

/** Where the keys that are not below `key` begin in a node. */
const firstPlace = ({ keys, children }: Node<unknown>, key: string): number =>
  children === undefined ? firstNotBelow(keys, key) : childAt(keys, key);

/** Parts of at most NODE_LOADED, as even as they can be: from where, to where. */
function evenParts(length: number): [from: number, to: number][] {
  const count = Math.ceil(length / NODE_LOADED);
  return Array.from({ length: count }, (_, i) => [
    Math.floor((i * length) / count),
    Math.floor(((i + 1) * length) / count),
  ]);
}
