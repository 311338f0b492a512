/** Removes audit entries that are older than `audit.retention`. */
import { type Clock, sleep } from '../state/clock/clock.ts';
import type { Job } from '../state/jobs/placement.ts';
import type { State } from '../state/state.ts';
import type { DeepReadonly } from '../state/table.ts';
import type { Transaction } from '../state/write/transaction.ts';
import { HELD_BACK_MS, RETENTION_BATCH_ENTRIES, RETENTION_CHECK_MS, STEADY_MS_MIN } from './limits.ts';
import { type AuditEntry, auditLog } from './record.ts';

/** What is done in the commit that removes an entry, for what else leads to it. */
export type OnRemoved = (tx: Transaction, entry: DeepReadonly<AuditEntry>) => void;

export interface Retention {
  readonly clock: Clock;
  /** For how long the clock has not jumped; see `ClockWatch`. */
  readonly steadyMs: () => number;
  /** How long an entry is kept. */
  readonly retentionMs: number;
  readonly onRemoved?: OnRemoved;
  /**
   * Called once, when an entry is past its time by more than `HELD_BACK_MS` and stays as the clock is not known to be
   * steady: a server that is started more often than that takes removes none, ever.
   */
  readonly onHeldBack?: () => void;
}

/** The job. A clock that is set to next month would make every entry old: until it is known to be steady, none is. */
export function auditRetentionJob(
  state: State,
  { clock, steadyMs, retentionMs, onRemoved = () => undefined, onHeldBack = () => undefined }: Retention,
): Job {
  const remove = (tx: Transaction, entry: DeepReadonly<AuditEntry>): void => {
    tx.purge(auditLog, entry.id);
    onRemoved(tx, entry);
  };
  let isTold = false;
  return {
    name: 'audit retention',
    async run(signal) {
      while (!signal.aborted) {
        const oldest = await state.scan(auditLog, { limit: RETENTION_BATCH_ENTRIES }, signal);
        // Looked at last, so that a jump while the store was asked counts.
        const isSteady = steadyMs() >= STEADY_MS_MIN;
        const cutoff = clock.now() - retentionMs;
        const olderThan = (ms: number) => oldest.filter(({ row }) => Date.parse(row.time) < ms);
        const due = isSteady ? olderThan(cutoff) : [];
        if (!(isSteady || isTold) && olderThan(cutoff - HELD_BACK_MS).length > 0) {
          isTold = true;
          onHeldBack();
        }
        // A write for each: those that wait go together, in commits as large as the store takes.
        await Promise.all(due.map(({ row }) => state.write((tx) => remove(tx, row), { signal })));
        if (due.length < RETENTION_BATCH_ENTRIES) await sleep(clock, RETENTION_CHECK_MS, signal);
      }
    },
  };
}
