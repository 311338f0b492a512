/** Deletes the keys of rows whose owner is gone: in bounded batches, resumable anywhere, since every node knows them. */
import { type Clock, sleep } from '../clock/clock.ts';
import { REMOVAL_BATCH_KEYS } from '../limits.ts';
import type { Memory } from '../memory/committed-state.ts';
import type { Transaction } from '../write/transaction.ts';
import type { Job } from './placement.ts';

/** How long the job looks away when there is nothing to remove. */
const IDLE_MS = 1_000;

/** What the job changes the state with. */
export interface Writer {
  write(fn: (tx: Transaction) => void, options: { readonly signal: AbortSignal }): Promise<void>;
}

/** @param operationsMax the engine's: a batch must fit one commit, however low an operator has set the store's limit */
export function removalJob(state: Writer, memory: Memory, clock: Clock, operationsMax: number): Job {
  const keysMax = Math.min(REMOVAL_BATCH_KEYS, operationsMax);
  return {
    name: 'removal',
    async run(signal) {
      while (!signal.aborted) {
        const keys = memory.doomedKeys(keysMax);
        if (keys.length === 0) await sleep(clock, IDLE_MS, signal);
        else {
          await state.write(
            (tx) => {
              for (const { table, key } of keys) tx.purge(table, key);
            },
            { signal },
          );
        }
      }
    },
  };
}
