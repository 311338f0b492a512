/** Removes audit entries that are older than `audit.retention`. */
import { type Clock, sleep } from '../state/clock.ts';
import type { Job } from '../state/jobs.ts';
import type { State } from '../state/state.ts';
import type { DeepReadonly } from '../state/table.ts';
import type { Transaction } from '../state/transaction.ts';
import { RETENTION_BATCH_ENTRIES, RETENTION_CHECK_MS } from './limits.ts';
import { type AuditEntry, auditLog } from './record.ts';

/** What is done in the commit that removes an entry, for what else leads to it. */
export type OnRemoved = (tx: Transaction, entry: DeepReadonly<AuditEntry>) => void;

/** The job; `retentionMs` is how long an entry is kept. */
export function auditRetentionJob(
  state: State,
  clock: Clock,
  retentionMs: number,
  onRemoved: OnRemoved = () => undefined,
): Job {
  const remove = (tx: Transaction, entry: DeepReadonly<AuditEntry>): void => {
    tx.purge(auditLog, entry.id);
    onRemoved(tx, entry);
  };
  return {
    name: 'audit retention',
    async run(signal) {
      while (!signal.aborted) {
        const cutoff = clock.now() - retentionMs;
        const oldest = await state.scan(auditLog, { limit: RETENTION_BATCH_ENTRIES }, signal);
        const due = oldest.filter(({ row }) => Date.parse(row.time) < cutoff);
        // A write for each: those that wait go together, in commits as large as the store takes.
        await Promise.all(due.map(({ row }) => state.write((tx) => remove(tx, row), { signal })));
        if (due.length < RETENTION_BATCH_ENTRIES) await sleep(clock, RETENTION_CHECK_MS, signal);
      }
    },
  };
}
