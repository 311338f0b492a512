/** Holds workers still between two of their requests. */
import type { Kind } from './kinds/kind.ts';
import type { Gate } from './worker.ts';

export interface HeldGate extends Gate {
  /** Holds those that `holds` names while `act` runs. One at a time; requests that are under way are not waited for. */
  holding<T>(holds: (kind: Kind) => boolean, act: () => Promise<T>): Promise<T>;
}

/** A gate that is open. */
export function createGate(): HeldGate {
  let closed: { readonly holds: (kind: Kind) => boolean; readonly opened: Promise<void> } | undefined;
  return {
    async pass(kind, signal) {
      const aborted = Promise.withResolvers<void>();
      const onAbort = (): void => aborted.resolve();
      signal.addEventListener('abort', onAbort, { once: true });
      while (closed?.holds(kind) === true && !signal.aborted) await Promise.race([closed.opened, aborted.promise]);
      signal.removeEventListener('abort', onAbort);
    },
    async holding(holds, act) {
      const { promise: opened, resolve } = Promise.withResolvers<void>();
      closed = { holds, opened };
      try {
        return await act();
      } finally {
        closed = undefined;
        resolve();
      }
    },
  };
}
