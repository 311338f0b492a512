/** Removes audit entries that are older than `audit.retention`. */
import { type Clock, sleep } from '../state/clock/clock.ts';
import type { Job } from '../state/jobs/placement.ts';
import { REMOVAL_BATCH_ROWS } from '../state/limits.ts';
import type { State } from '../state/state.ts';
import type { DeepReadonly } from '../state/table.ts';
import type { Transaction } from '../state/write/transaction.ts';
import { OVERDUE_MS, RETENTION_CHECK_MS, STEADY_MS_MIN } from './limits.ts';
import { type AuditEntry, auditLog } from './record.ts';

/** Deletes references to an entry, in the commit that removes it. */
export type OnRemoved = (tx: Transaction, entry: DeepReadonly<AuditEntry>) => void;

export interface Retention {
  readonly clock: Clock;
  /** Returns how long the clock has not jumped. */
  readonly steadyMs: () => number;
  readonly retentionMs: number;
  readonly onRemoved?: OnRemoved;
  /**
   * Called once, when an entry is overdue by more than `OVERDUE_MS` because the clock is not known to be steady. A
   * server that restarts more often than once per `STEADY_MS_MIN` never removes an entry.
   */
  readonly onOverdue?: () => void;
}

/** Returns the job. It waits for a steady clock, because a clock set to next month would make every entry old. */
export function auditRetentionJob(
  state: State,
  { clock, steadyMs, retentionMs, onRemoved = () => undefined, onOverdue = () => undefined }: Retention,
): Job {
  const remove = (tx: Transaction, entry: DeepReadonly<AuditEntry>): void => {
    tx.purge(auditLog, entry.id);
    onRemoved(tx, entry);
  };
  let isReported = false;
  return {
    name: 'audit retention',
    async run(signal) {
      while (!signal.aborted) {
        const oldest = await state.scan(auditLog, { limit: REMOVAL_BATCH_ROWS }, signal);
        // Read after the scan, so that a clock jump during the scan counts.
        const isSteady = steadyMs() >= STEADY_MS_MIN;
        const cutoff = clock.now() - retentionMs;
        const olderThan = (ms: number) => oldest.filter(({ row }) => Date.parse(row.time) < ms);
        const due = isSteady ? olderThan(cutoff) : [];
        if (!(isSteady || isReported) && olderThan(cutoff - OVERDUE_MS).length > 0) {
          isReported = true;
          onOverdue();
        }
        // One write per entry. The write queue combines them into large commits.
        await Promise.all(due.map(({ row }) => state.write((tx) => remove(tx, row), { signal })));
        if (due.length < REMOVAL_BATCH_ROWS) await sleep(clock, RETENTION_CHECK_MS, signal);
      }
    },
  };
}
