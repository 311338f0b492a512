/**
 * The background job for the deadlines of TTL checks. It turns checks critical that were not renewed, and removes
 * services whose check was critical for too long ([SVC-53], [SVC-54]). The deadlines are rows of the state, so any
 * server can run the job, also after an outage of all servers ([SVC-56]).
 */
import { type Clock, sleep } from '../../../state/clock/clock.ts';
import type { Job } from '../../../state/jobs/placement.ts';
import type { State } from '../../../state/state.ts';
import type { DeepReadonly } from '../../../state/table.ts';
import type { Transaction } from '../../../state/write/transaction.ts';
import { deleteService } from '../change-catalog.ts';
import { DEADLINE_POLL_MS } from '../limits.ts';
import { catalogServiceKey, catalogServices } from '../tables/catalog-service.ts';
import { TTL_EXPIRED_OUTPUT } from '../tables/check.ts';
import { nextDeadline, withDeadline } from '../tables/check-deadline.ts';
import { type Deadline, type TtlCheck, ttlCheckKey, ttlChecks } from '../tables/ttl-check.ts';
import { setCheck } from './report-check.ts';
import { writeBatch } from './write-in-batches.ts';

export function dueChecksJob(state: State, clock: Clock): Job {
  return {
    name: 'due-checks',
    async run(signal) {
      while (!signal.aborted) {
        const dueMs = state.snapshot.first(ttlChecks, 'due')?.row.due?.atMs ?? Number.POSITIVE_INFINITY;
        const waitMs = dueMs - clock.now();
        if (waitMs > 0) await sleep(clock, Math.min(waitMs, DEADLINE_POLL_MS), signal);
        else await writeBatch(state, handleDeadlines, signal);
      }
    },
  };
}

function handleDeadlines(tx: Transaction, countMax: number): void {
  for (let handled = 0; handled < countMax; handled++) {
    const row = tx.first(ttlChecks, 'due')?.row;
    if (row?.due === undefined || row.due.atMs > tx.now) return;
    handleDeadline(tx, row, row.due);
  }
}

function handleDeadline(tx: Transaction, row: DeepReadonly<TtlCheck>, { what }: Deadline): void {
  const service = tx.get(catalogServices, catalogServiceKey(row.node, row.serviceId));
  const check = service?.row.checks.find(({ id }) => id === row.checkId);
  if (service === undefined || check === undefined) {
    tx.delete(ttlChecks, ttlCheckKey(row.node, row.checkId));
  } else if (what === 'deregister' && check.status !== 'critical') {
    // A service is removed only while its check is critical, whatever its deadline.
    tx.put(ttlChecks, withDeadline(row, nextDeadline(row, check.status, tx.now)));
  } else if (what === 'deregister') {
    deleteService(tx, service);
  } else {
    setCheck(tx, service.row, row.checkId, { status: 'critical', output: TTL_EXPIRED_OUTPUT });
    tx.put(ttlChecks, withDeadline(row, nextDeadline(row, 'critical', tx.now)));
  }
}
