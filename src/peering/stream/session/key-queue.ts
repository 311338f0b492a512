/**
 * A queue in which every key stands once.
 *
 * Trap: a Map that is emptied from its front keeps the holes until it shrinks, and each new iterator walks over all of
 * them. So one iterator lives as long as the queue has entries: an iterator of a Map goes on to what is put behind it.
 */
export interface KeyQueue<T> {
  readonly size: number;
  get(key: string): T | undefined;
  /** Puts `value` at the end; one that stood under the same key is gone. */
  put(key: string, value: T): void;
  /** Puts `value` at the end unless the key already stands somewhere. */
  add(key: string, value: T): void;
  /** The first value, which stays. */
  peek(): T | undefined;
  /** Takes the first value away. */
  take(): T | undefined;
  clear(): void;
}

type Entry<T> = readonly [key: string, value: { readonly of: T }];

export function createKeyQueue<T>(): KeyQueue<T> {
  // Values are boxed, so that an entry that was put again is told from the one that the iterator has already passed.
  const entries = new Map<string, { readonly of: T }>();
  let iterator = entries.entries();
  let head: Entry<T> | undefined;

  const first = (): Entry<T> | undefined => {
    while (entries.size > 0 && (head === undefined || entries.get(head[0]) !== head[1])) {
      const next = iterator.next();
      if (next.done === true) iterator = entries.entries();
      else head = next.value;
    }
    return entries.size === 0 ? undefined : head;
  };

  return {
    get size() {
      return entries.size;
    },
    get: (key) => entries.get(key)?.of,
    put(key, value) {
      entries.delete(key);
      entries.set(key, { of: value });
    },
    add(key, value) {
      if (!entries.has(key)) entries.set(key, { of: value });
    },
    peek: () => first()?.[1].of,
    take() {
      const entry = first();
      if (entry === undefined) return undefined;
      entries.delete(entry[0]);
      head = undefined;
      return entry[1].of;
    },
    clear() {
      entries.clear();
      iterator = entries.entries();
      head = undefined;
    },
  };
}
