/** Deletes the keys of rows whose owner is gone: in bounded batches, resumable anywhere, since every node knows them. */
import { sleep } from './clock.ts';
import type { Job } from './jobs.ts';
import { REMOVAL_BATCH_KEYS } from './limits.ts';
import type { Memory } from './memory.ts';
import type { State } from './state.ts';
import type { Clock } from './clock.ts';

/** How long the job looks away when there is nothing to remove. */
const IDLE_MS = 1_000;

export function removalJob(state: State, memory: Memory, clock: Clock): Job {
  return {
    name: 'removal',
    async run(signal) {
      while (!signal.aborted) {
        const keys = memory.doomedKeys(REMOVAL_BATCH_KEYS);
        if (keys.length === 0) await sleep(clock, IDLE_MS, signal);
        else await state.write((tx) => keys.forEach(({ table, key }) => tx.purge(table, key)), { signal });
      }
    },
  };
}
