/** Searching the sorted keys of a node, and putting one element more into a list. */

/** Where the first key stands that is not below `key`. */
export function firstNotBelow(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((keys[middle] as string) < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The child of an inner node in which `key` is, if it is anywhere. */
export function childAt(keys: readonly string[], key: string): number {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((keys[middle] as string) <= key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A copy with one element more: made as long as it is to be, where copying first and inserting then makes two. */
export function insertedAt<T>(list: readonly T[], at: number, element: T): T[] {
  const copy = new Array<T>(list.length + 1);
  for (let i = 0; i < at; i++) copy[i] = list[i] as T;
  copy[at] = element;
  for (let i = at; i < list.length; i++) copy[i + 1] = list[i] as T;
  return copy;
}

/** Not `splice`, which makes an array of what it removes, also of nothing. */
export function insertAt<T>(list: T[], at: number, element: T): void {
  list.push(element);
  for (let i = list.length - 1; i > at; i--) list[i] = list[i - 1] as T;
  list[at] = element;
}
