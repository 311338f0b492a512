import { traced } from '../../http/telemetry/tracing.ts';
import { type Clock, sleep } from '../../state/clock/clock.ts';
import type { Job } from '../../state/jobs/placement.ts';
import { REMOVAL_BATCH_ROWS } from '../../state/limits.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { State } from '../../state/state.ts';
import type { DeepReadonly, Table } from '../../state/table.ts';
import { importProblems } from '../catalog/tables/import-problem.ts';
import { importedServiceKey, importedServices } from '../catalog/tables/imported-service.ts';
import { JOB_POLL_MS, READABLE_AFTER_DELETION_MS } from '../limits.ts';
import { type Peering, peerings } from '../record/record.ts';
import { lookupPeeringName, peeringSpan } from '../spans.ts';

interface RemovalDependencies {
  readonly state: State;
  readonly clock: Clock;
}

/** Creates the job. It also deletes the imported data of peerings that the other side terminated. */
export function peeringRemovalJob(state: State, clock: Clock): Job {
  return {
    name: 'peering-removal',
    async run(signal) {
      while (!signal.aborted) {
        for (const { row } of state.snapshot.list(peerings, 'terminated', ''))
          await removeIfDue({ state, clock }, row, signal);
        await sleep(clock, JOB_POLL_MS, signal);
      }
    },
  };
}

async function removeIfDue(
  { state, clock }: RemovalDependencies,
  { id }: DeepReadonly<Peering>,
  signal: AbortSignal,
): Promise<void> {
  const { snapshot } = state;
  if (hasImportedRows(snapshot, id)) {
    await traced(peeringSpan('accord.peering.clear', lookupPeeringName(snapshot, id)), async () => {
      await deleteRows(state, importedServices, id, signal);
      await deleteRows(state, importProblems, id, signal);
    });
  }
  if (hasImportedRows(state.snapshot, id) || !canRemoveRecord(state.snapshot, id, clock.now())) return;
  await traced(peeringSpan('accord.peering.remove', lookupPeeringName(snapshot, id)), async () => {
    await state.write(
      (tx) => {
        if (canRemoveRecord(tx, id, tx.now)) tx.delete(peerings, id);
      },
      { signal },
    );
  });
}

const hasImportedRows = (reader: Reader, id: string): boolean =>
  reader.list(importedServices, 'peering', id, { limit: 1 }).length > 0 ||
  reader.list(importProblems, 'peering', id, { limit: 1 }).length > 0;

/** Whether the peering was deleted here, and at least READABLE_AFTER_DELETION_MS ago. */
function canRemoveRecord(reader: Reader, id: string, nowMs: number): boolean {
  const deletedAt = reader.get(peerings, id)?.row.deletedAt;
  return deletedAt !== undefined && Date.parse(deletedAt) + READABLE_AFTER_DELETION_MS <= nowMs;
}

/** Deletes the imported rows of a peering in batches. Stops when the peering is no longer TERMINATED. */
async function deleteRows<Row extends { readonly peeringId: string; readonly service: string }>(
  state: State,
  table: Table<Row, 'peering'>,
  id: string,
  signal: AbortSignal,
): Promise<void> {
  const isTerminated = (reader: Reader): boolean => reader.get(peerings, id)?.row.state === 'TERMINATED';
  while (state.snapshot.list(table, 'peering', id, { limit: 1 }).length > 0) {
    await state.write(
      (tx) => {
        if (!isTerminated(tx)) return;
        const batch = tx.list(table, 'peering', id, { limit: REMOVAL_BATCH_ROWS });
        for (const { row } of batch) tx.delete(table, importedServiceKey(id, row.service));
      },
      { signal },
    );
    if (!isTerminated(state.snapshot)) return;
  }
}
