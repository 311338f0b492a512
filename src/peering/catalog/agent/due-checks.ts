/**
 * What is done when checks fall due: those that were not renewed become critical, and services whose check has been
 * critical for too long go. The times stand in the state, so it does not matter which server does it, or whether all
 * were away meanwhile.
 */
import { type Clock, sleep } from '../../../state/clock/clock.ts';
import type { Job } from '../../../state/jobs/placement.ts';
import type { State } from '../../../state/state.ts';
import type { DeepReadonly } from '../../../state/table.ts';
import type { Transaction } from '../../../state/write/transaction.ts';
import { deleteService } from '../change-catalog.ts';
import { DUE_LOOK_MS } from '../limits.ts';
import { catalogServiceKey, catalogServices } from '../tables/catalog-service.ts';
import { TTL_EXPIRED } from '../tables/check.ts';
import { dueAfter, withDue } from '../tables/check-deadline.ts';
import { type Due, type TtlCheck, ttlCheckKey, ttlChecks } from '../tables/ttl-check.ts';
import { setCheck } from './report-check.ts';
import { writeBatch } from './write-in-batches.ts';

/** Sees to checks as they fall due. */
export function dueChecksJob(state: State, clock: Clock): Job {
  return {
    name: 'due-checks',
    async run(signal) {
      while (!signal.aborted) {
        const dueMs = state.snapshot.first(ttlChecks, 'due')?.row.due?.atMs ?? Number.POSITIVE_INFINITY;
        const waitMs = dueMs - clock.now();
        if (waitMs > 0) await sleep(clock, Math.min(waitMs, DUE_LOOK_MS), signal);
        else await writeBatch(state, handleDue, signal);
      }
    },
  };
}

function handleDue(tx: Transaction, countMax: number): void {
  for (let handled = 0; handled < countMax; handled++) {
    const row = tx.first(ttlChecks, 'due')?.row;
    if (row?.due === undefined || row.due.atMs > tx.now) return;
    handle(tx, row, row.due);
  }
}

function handle(tx: Transaction, row: DeepReadonly<TtlCheck>, { what }: Due): void {
  const service = tx.get(catalogServices, catalogServiceKey(row.node, row.serviceId));
  const check = service?.row.checks.find(({ id }) => id === row.checkId);
  if (service === undefined || check === undefined) {
    tx.delete(ttlChecks, ttlCheckKey(row.node, row.checkId));
  } else if (what === 'deregister' && check.status !== 'critical') {
    // Only what is critical goes, whatever the times say.
    tx.put(ttlChecks, withDue(row, dueAfter(row, check.status, tx.now)));
  } else if (what === 'deregister') {
    deleteService(tx, service);
  } else {
    setCheck(tx, service.row, row.checkId, { status: 'critical', output: TTL_EXPIRED });
    tx.put(ttlChecks, withDue(row, dueAfter(row, 'critical', tx.now)));
  }
}
