/** The job that deletes orphaned keys from the store. Every server knows these keys, so it can resume on any server. */
import { type Clock, sleep } from '../clock/clock.ts';
import { REMOVAL_BATCH_ROWS } from '../limits.ts';
import type { CommittedState } from '../memory/committed-state.ts';
import type { Transaction } from '../write/transaction.ts';
import type { Job } from './placement.ts';

const IDLE_MS = 1_000;

export interface JobWriter {
  write(fn: (tx: Transaction) => void, options: { readonly signal: AbortSignal }): Promise<void>;
}

/** @param operationsMax the commit limit of the engine, which an operator may have set below REMOVAL_BATCH_ROWS */
export function orphanRemovalJob(
  state: JobWriter,
  committed: Pick<CommittedState, 'orphanedKeys'>,
  clock: Clock,
  operationsMax: number,
): Job {
  const keysMax = Math.min(REMOVAL_BATCH_ROWS, operationsMax);
  return {
    name: 'removal',
    async run(signal) {
      while (!signal.aborted) {
        const keys = committed.orphanedKeys(keysMax);
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
