/**
 * Who waits for what, and when it last changed.
 *
 * A topic is a row (table, key) or an entry of a watched index. The reported index of a topic may be too high (someone
 * is woken for nothing) and never too low (someone would sleep through a change): that is why a forgotten topic counts
 * as changed at `#floor`, and why a removal leaves its index behind.
 */
import { LAST_CHANGES_MAX, WAKE_SLICE } from '../limits.ts';
import { type AnyTable, SEPARATOR } from '../table.ts';

/** Something that can change: made by `rowTopic` or `entryTopic`. */
export type Topic = string & { readonly topic: unique symbol };

/** The row of a table under a primary key, there or not. */
export const rowTopic = (table: AnyTable, key: string): Topic => `${table.name}${SEPARATOR}${SEPARATOR}${key}` as Topic;

/** All rows under an entry of a watched index. */
export const entryTopic = (table: AnyTable, index: string, entry: string): Topic =>
  `${table.name}${SEPARATOR}${index}${SEPARATOR}${entry}` as Topic;

interface Waiter {
  readonly topics: readonly Topic[];
  readonly wake: () => void;
}

/** The waiters of one state. */
export class Waiting {
  readonly #waiters = new Map<Topic, Set<Waiter>>();
  readonly #lastChange = new Map<Topic, number>();
  readonly #due = new Set<Waiter>();
  #floor = 0;
  #scheduled = false;

  /** The index of the last change of `topic`, or an index after it. */
  lastChange(topic: Topic): number {
    return this.#lastChange.get(topic) ?? this.#floor;
  }

  /** How many wait. */
  get size(): number {
    let count = this.#due.size;
    for (const waiters of this.#waiters.values()) count += waiters.size;
    return count;
  }

  /** Says that `topics` changed at `index`. */
  touch(topics: readonly Topic[], index: number): void {
    for (const topic of topics) this.#lastChange.set(topic, index);
    this.notify(topics);
    if (this.#lastChange.size > LAST_CHANGES_MAX) {
      this.#lastChange.clear();
      this.#floor = index;
    }
  }

  /** Wakes who waits for `topics`, whose own rows tell when they changed. */
  notify(topics: readonly Topic[]): void {
    // A topic is a new text each time: to look it up costs more than everything else here.
    if (this.#waiters.size === 0) return;
    for (const topic of topics) {
      const waiters = this.#waiters.get(topic);
      if (waiters !== undefined) for (const waiter of waiters) this.#enqueue(waiter);
    }
  }

  /** Says that anything may have changed: after a load nothing is known of the time before `index`. */
  reset(index: number): void {
    this.#lastChange.clear();
    this.#floor = index;
    for (const waiters of this.#waiters.values()) for (const waiter of waiters) this.#enqueue(waiter);
  }

  /**
   * Calls `wake` once, in a later turn of the event loop, when one of `topics` changes.
   * @returns forgets the waiter; to be called when it is no longer interested
   */
  wait(topics: readonly Topic[], wake: () => void): () => void {
    const waiter: Waiter = { topics, wake };
    for (const topic of topics) {
      const waiters = this.#waiters.get(topic);
      if (waiters === undefined) this.#waiters.set(topic, new Set([waiter]));
      else waiters.add(waiter);
    }
    return () => this.#forget(waiter);
  }

  #forget(waiter: Waiter): void {
    this.#due.delete(waiter);
    for (const topic of waiter.topics) {
      const waiters = this.#waiters.get(topic);
      if (waiters?.delete(waiter) && waiters.size === 0) this.#waiters.delete(topic);
    }
  }

  #enqueue(waiter: Waiter): void {
    this.#due.add(waiter);
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => this.#wakeSlice());
  }

  #wakeSlice(): void {
    this.#scheduled = false;
    let left = WAKE_SLICE;
    for (const waiter of this.#due) {
      if (left-- === 0) break;
      this.#forget(waiter);
      waiter.wake();
    }
    if (this.#due.size > 0 && !this.#scheduled) {
      this.#scheduled = true;
      setImmediate(() => this.#wakeSlice());
    }
  }
}
