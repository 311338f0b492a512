/**
 * A queue in which each key occurs at most once.
 *
 * Trap: a Map that is emptied from the front keeps the deleted slots until it shrinks, and each new iterator skips over
 * all of them. The queue therefore keeps one iterator while it has entries. A Map iterator also visits entries added
 * later.
 */
export interface KeyQueue<T> {
  readonly size: number;
  get(key: string): T | undefined;
  /** Adds `value` at the end, and removes the previous entry with the same key. */
  put(key: string, value: T): void;
  /** Adds `value` at the end, unless the queue contains the key. */
  add(key: string, value: T): void;
  peek(): T | undefined;
  take(): T | undefined;
  clear(): void;
}

interface Box<T> {
  readonly value: T;
}

export function createKeyQueue<T>(): KeyQueue<T> {
  // Boxes distinguish an entry that was put again from the entry with the same key that the iterator has passed.
  const entries = new Map<string, Box<T>>();
  let iterator = entries.entries();
  let head: readonly [key: string, box: Box<T>] | undefined;

  const first = (): readonly [key: string, box: Box<T>] | undefined => {
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
    get: (key) => entries.get(key)?.value,
    put(key, value) {
      entries.delete(key);
      entries.set(key, { value });
    },
    add(key, value) {
      if (!entries.has(key)) entries.set(key, { value });
    },
    peek: () => first()?.[1].value,
    take() {
      const entry = first();
      if (entry === undefined) return undefined;
      entries.delete(entry[0]);
      head = undefined;
      return entry[1].value;
    },
    clear() {
      entries.clear();
      iterator = entries.entries();
      head = undefined;
    },
  };
}
