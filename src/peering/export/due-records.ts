/** Which records are due to be written, and who waits for some to be. */

/** IDs, each once, in the order in which they became due. */
export interface DueRecords {
  add(id: string): void;
  delete(id: string): void;
  /** Takes the first of them out. */
  take(most: number): readonly string[];
  /** Resolves when there are some, or the signal aborts; leaves nothing behind at the signal. For one at a time. */
  some(signal: AbortSignal): Promise<void>;
}

export function createDueRecords(): DueRecords {
  const due = new Set<string>();
  let wake: () => void = () => undefined;

  const woken = (signal: AbortSignal): Promise<void> =>
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
    take(most) {
      const ids = [...due.values().take(most)];
      for (const id of ids) due.delete(id);
      return ids;
    },
    async some(signal) {
      while (due.size === 0 && !signal.aborted) await woken(signal);
    },
  };
}
