/** A queue of the records that are due to be written. */

/** IDs without duplicates, in the order in which they became due. */
export interface DueRecords {
  add(id: string): void;
  delete(id: string): void;
  /** Removes and returns up to `max` IDs. */
  take(max: number): readonly string[];
  /** Resolves when the queue has an ID, or the signal aborts. Only one caller may wait at a time. */
  whenNotEmpty(signal: AbortSignal): Promise<void>;
}

export function createDueRecords(): DueRecords {
  const due = new Set<string>();
  let wake: () => void = () => undefined;

  const nextAdd = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      wake = () => {
        signal.removeEventListener('abort', wake);
        resolve();
      };
      signal.addEventListener('abort', wake, { once: true });
    });

  return {
    add(id) {
      due.add(id);
      wake();
    },
    delete: (id) => void due.delete(id),
    take(max) {
      const ids = [...due.values().take(max)];
      for (const id of ids) due.delete(id);
      return ids;
    },
    async whenNotEmpty(signal) {
      while (due.size === 0 && !signal.aborted) await nextAdd(signal);
    },
  };
}
