/** The change feed: every row change in commit order, for consumers inside the server. See [STATE-77]. */

import { StateError } from '../errors.ts';
import { CHANGE_FEED_BACKLOG_MAX } from '../limits.ts';
import type { RowChange } from '../row-change.ts';

/** The changes of one commit, or of one slice of dropped orphans with the index of the newest commit. */
export interface Change {
  readonly index: number;
  readonly changes: readonly RowChange[];
}

interface Consumer {
  readonly backlog: Change[];
  wake: (() => void) | undefined;
  isDisconnected: boolean;
}

/** Delivers changes to any number of consumers, each at its own pace up to a bounded backlog. */
export class ChangeFeed {
  readonly #consumers = new Set<Consumer>();

  push(change: Change): void {
    for (const consumer of this.#consumers) {
      if (consumer.backlog.length >= CHANGE_FEED_BACKLOG_MAX) this.#disconnect(consumer);
      else consumer.backlog.push(change);
      consumer.wake?.();
    }
  }

  /** Disconnects every consumer, because a reload replaced the snapshot that it followed. */
  disconnectAll(): void {
    for (const consumer of this.#consumers) {
      this.#disconnect(consumer);
      consumer.wake?.();
    }
  }

  /**
   * Returns all changes from this call on. The caller subscribes first, then reads a snapshot, and skips the changes
   * that the snapshot already contains.
   * @throws StateError `fell-behind` if the consumer is too slow or the state is reloaded; restart from a snapshot
   */
  subscribe(signal: AbortSignal): AsyncIterable<Change> {
    const consumer: Consumer = { backlog: [], wake: undefined, isDisconnected: false };
    this.#consumers.add(consumer);
    const unsubscribe = (): void => {
      this.#consumers.delete(consumer);
      consumer.wake?.();
    };
    signal.addEventListener('abort', unsubscribe, { once: true });
    if (signal.aborted) unsubscribe();
    const consumers = this.#consumers;
    return {
      async *[Symbol.asyncIterator]() {
        try {
          while (!signal.aborted) {
            if (consumer.isDisconnected) {
              throw new StateError(
                'fell-behind',
                'the change feed disconnected this consumer: restart from a snapshot',
              );
            }
            const change = consumer.backlog.shift();
            if (change !== undefined) {
              yield change;
              continue;
            }
            await new Promise<void>((resolve) => {
              consumer.wake = resolve;
            });
            consumer.wake = undefined;
          }
        } finally {
          signal.removeEventListener('abort', unsubscribe);
          consumers.delete(consumer);
        }
      },
    };
  }

  #disconnect(consumer: Consumer): void {
    consumer.isDisconnected = true;
    consumer.backlog.length = 0;
    this.#consumers.delete(consumer);
  }
}
