/** The change feed: every change in order, for consumers that follow the state without asking it again and again. */

import { StateError } from '../errors.ts';
import { FEED_BACKLOG_MAX } from '../limits.ts';
import type { RowChange } from '../write/batch.ts';

/** What one commit (or one slice of dropped orphans, with the index of the last commit) changed. */
export interface Change {
  readonly index: number;
  readonly changes: readonly RowChange[];
}

interface Consumer {
  readonly backlog: Change[];
  wake: (() => void) | undefined;
  cut: boolean;
}

/** Hands changes to any number of consumers, each at its own pace up to a bounded backlog. */
export class ChangeFeed {
  readonly #consumers = new Set<Consumer>();

  push(change: Change): void {
    for (const consumer of this.#consumers) {
      if (consumer.backlog.length >= FEED_BACKLOG_MAX) this.#cut(consumer);
      else consumer.backlog.push(change);
      consumer.wake?.();
    }
  }

  /** Ends every consumer: the picture it followed was replaced. */
  cut(): void {
    for (const consumer of this.#consumers) {
      this.#cut(consumer);
      consumer.wake?.();
    }
  }

  /**
   * Changes from now on; subscribe first, then read a snapshot, and skip what its index covers.
   * @throws StateError `fell-behind` when the consumer is too slow or the state was loaded again: start from a snapshot
   */
  subscribe(signal: AbortSignal): AsyncIterable<Change> {
    const consumer: Consumer = { backlog: [], wake: undefined, cut: false };
    this.#consumers.add(consumer);
    const leave = (): void => {
      this.#consumers.delete(consumer);
      consumer.wake?.();
    };
    signal.addEventListener('abort', leave, { once: true });
    if (signal.aborted) leave();
    const consumers = this.#consumers;
    return {
      async *[Symbol.asyncIterator]() {
        try {
          while (!signal.aborted) {
            if (consumer.cut)
              throw new StateError('fell-behind', 'the change feed was cut: start again from a snapshot');
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
          signal.removeEventListener('abort', leave);
          consumers.delete(consumer);
        }
      },
    };
  }

  #cut(consumer: Consumer): void {
    consumer.cut = true;
    consumer.backlog.length = 0;
    this.#consumers.delete(consumer);
  }
}
