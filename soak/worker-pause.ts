/** Pauses workers between two requests, so that the state does not change during a comparison. */
import type { ResourceKind } from './kinds/resource-kind.ts';
import type { WorkerGate } from './worker.ts';

export interface WorkerPause extends WorkerGate {
  /**
   * Runs `action` while the workers of the selected kinds are paused. It does not wait for requests in flight. Calls
   * must not overlap.
   */
  whilePaused<T>(selects: (kind: ResourceKind) => boolean, action: () => Promise<T>): Promise<T>;
}

export function createWorkerPause(): WorkerPause {
  let current: { readonly selects: (kind: ResourceKind) => boolean; readonly ended: Promise<void> } | undefined;
  return {
    async waitUntilResumed(kind, signal) {
      const aborted = Promise.withResolvers<void>();
      const onAbort = (): void => aborted.resolve();
      signal.addEventListener('abort', onAbort, { once: true });
      while (current?.selects(kind) === true && !signal.aborted) await Promise.race([current.ended, aborted.promise]);
      signal.removeEventListener('abort', onAbort);
    },
    async whilePaused(selects, action) {
      const { promise: ended, resolve } = Promise.withResolvers<void>();
      current = { selects, ended };
      try {
        return await action();
      } finally {
        current = undefined;
        resolve();
      }
    },
  };
}
