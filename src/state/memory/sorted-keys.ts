/** Binary search in the sorted keys of a node, and insertion into arrays. */

/** Returns the position of the first key that is not less than `key`. */
export function lowerBound(keys: readonly string[], key: string): number {
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
export function childIndex(keys: readonly string[], key: string): number {
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
export function copyWithInserted<T>(list: readonly T[], at: number, element: T): T[] {
  const copy = new Array<T>(list.length + 1);
  for (let i = 0; i < at; i++) copy[i] = list[i] as T;
  copy[at] = element;
  for (let i = at; i < list.length; i++) copy[i + 1] = list[i] as T;
  return copy;
}

/** Inserts `element` in place. `splice` is not used because it allocates an array for the removed elements. */
export function insertAt<T>(list: T[], at: number, element: T): void {
  list.push(element);
  for (let i = list.length - 1; i > at; i--) list[i] = list[i - 1] as T;
  list[at] = element;
}
