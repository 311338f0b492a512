/**
 * The change notifier: wakes blocking queries when a topic changes, and remembers when each topic changed last.
 *
 * The reported index of a topic may be too high, which wakes a client without need. It must never be too low, because
 * the client would miss a change. So a forgotten topic counts as changed at `#forgottenIndex`, and the topics of a
 * deleted row keep the index of the deletion. See [STATE-71].
 */
import { LAST_CHANGES_MAX, WAKE_SLICE_WAITERS } from '../limits.ts';
import { type AnyTable, SEPARATOR } from '../table.ts';

/** A row, existing or missing, or an entry of a watched index. Made by `rowTopic` or `entryTopic`. */
export type Topic = string & { readonly topic: unique symbol };

export const rowTopic = (table: AnyTable, key: string): Topic => `${table.name}${SEPARATOR}${SEPARATOR}${key}` as Topic;

export const entryTopic = (table: AnyTable, index: string, entry: string): Topic =>
  `${table.name}${SEPARATOR}${index}${SEPARATOR}${entry}` as Topic;

interface Waiter {
  readonly topics: readonly Topic[];
  readonly wake: () => void;
}

export class ChangeNotifier {
  readonly #waiters = new Map<Topic, Set<Waiter>>();
  readonly #lastChanges = new Map<Topic, number>();
  readonly #dueWaiters = new Set<Waiter>();
  #forgottenIndex = 0;
  #isScheduled = false;

  /** Returns the index of the last change of `topic`, or a higher one. */
  lastChangeIndex(topic: Topic): number {
    return this.#lastChanges.get(topic) ?? this.#forgottenIndex;
  }

  /** The number of waiters, counted once per topic. */
  get waiterCount(): number {
    let count = this.#dueWaiters.size;
    for (const waiters of this.#waiters.values()) count += waiters.size;
    return count;
  }

  /** Records that `topics` changed at `index`, and wakes their waiters. */
  recordChanges(topics: readonly Topic[], index: number): void {
    for (const topic of topics) this.#lastChanges.set(topic, index);
    this.notify(topics);
    if (this.#lastChanges.size > LAST_CHANGES_MAX) {
      this.#lastChanges.clear();
      this.#forgottenIndex = index;
    }
  }

  /** Wakes the waiters of `topics` without recording the change: existing rows carry the index of their last change. */
  notify(topics: readonly Topic[]): void {
    // Skips the lookups, the most expensive part: each topic is a new string whose hash is not cached.
    if (this.#waiters.size === 0) return;
    for (const topic of topics) {
      const waiters = this.#waiters.get(topic);
      if (waiters !== undefined) for (const waiter of waiters) this.#enqueue(waiter);
    }
  }

  /**
   * Marks every topic as changed at `index` and wakes every waiter, because a load does not show what changed before.
   */
  reset(index: number): void {
    this.#lastChanges.clear();
    this.#forgottenIndex = index;
    for (const waiters of this.#waiters.values()) for (const waiter of waiters) this.#enqueue(waiter);
  }

  /** Calls `wake` once, in a later turn, when one of `topics` changes. @returns a function that removes the waiter */
  wait(topics: readonly Topic[], wake: () => void): () => void {
    const waiter: Waiter = { topics, wake };
    for (const topic of topics) {
      const waiters = this.#waiters.get(topic);
      if (waiters === undefined) this.#waiters.set(topic, new Set([waiter]));
      else waiters.add(waiter);
    }
    return () => this.#remove(waiter);
  }

  #remove(waiter: Waiter): void {
    this.#dueWaiters.delete(waiter);
    for (const topic of waiter.topics) {
      const waiters = this.#waiters.get(topic);
      if (waiters?.delete(waiter) && waiters.size === 0) this.#waiters.delete(topic);
    }
  }

  #enqueue(waiter: Waiter): void {
    this.#dueWaiters.add(waiter);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#wakeSlice());
  }

  #wakeSlice(): void {
    this.#isScheduled = false;
    let remaining = WAKE_SLICE_WAITERS;
    for (const waiter of this.#dueWaiters) {
      if (remaining-- === 0) break;
      this.#remove(waiter);
      waiter.wake();
    }
    if (this.#dueWaiters.size > 0 && !this.#isScheduled) {
      this.#isScheduled = true;
      setImmediate(() => this.#wakeSlice());
    }
  }
}
