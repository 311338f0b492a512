/**
 * What is done behind a deletion: the imported data goes in bounded commits, then the record, not before it could be
 * read for some seconds. The rows say what is left to do, so the job can stop and go on anywhere.
 */
import { traced } from '../http/telemetry/tracing.ts';
import { type Clock, sleep } from '../state/clock/clock.ts';
import type { Job } from '../state/jobs/placement.ts';
import type { Reader } from '../state/memory/reader.ts';
import type { State } from '../state/state.ts';
import type { DeepReadonly, Table } from '../state/table.ts';
import { importProblems } from './catalog/tables/import-problem.ts';
import { importedServiceKey, importedServices } from './catalog/tables/imported-service.ts';
import { READABLE_AFTER_DELETION_MS, REMOVAL_BATCH_ROWS, REMOVAL_LOOK_MS } from './limits.ts';
import { type Peering, peerings } from './record/record.ts';
import { peeringNamed, peeringSpan } from './spans.ts';

interface Parts {
  readonly state: State;
  readonly clock: Clock;
}

/** Clears away what TERMINATED peerings leave behind. */
export function peeringRemovalJob(state: State, clock: Clock): Job {
  return {
    name: 'peering-removal',
    async run(signal) {
      while (!signal.aborted) {
        for (const { row } of state.snapshot.list(peerings, 'terminated', ''))
          await clear({ state, clock }, row, signal);
        await sleep(clock, REMOVAL_LOOK_MS, signal);
      }
    },
  };
}

async function clear({ state, clock }: Parts, { id }: DeepReadonly<Peering>, signal: AbortSignal): Promise<void> {
  const { snapshot } = state;
  if (hasImports(snapshot, id)) {
    await traced(peeringSpan('accord.peering.clear', peeringNamed(snapshot, id)), async () => {
      await clearTable(state, importedServices, id, signal);
      await clearTable(state, importProblems, id, signal);
    });
  }
  if (hasImports(state.snapshot, id) || !mayGo(state.snapshot, id, clock.now())) return;
  await traced(peeringSpan('accord.peering.remove', peeringNamed(snapshot, id)), async () => {
    await state.write(
      (tx) => {
        if (mayGo(tx, id, tx.now)) tx.delete(peerings, id);
      },
      { signal },
    );
  });
}

const hasImports = (reader: Reader, id: string): boolean =>
  reader.list(importedServices, 'peering', id, { limit: 1 }).length > 0 ||
  reader.list(importProblems, 'peering', id, { limit: 1 }).length > 0;

/** It was deleted here, and long enough ago for who deleted it to have seen it. */
function mayGo(reader: Reader, id: string, nowMs: number): boolean {
  const deletedAt = reader.get(peerings, id)?.row.deletedAt;
  return deletedAt !== undefined && Date.parse(deletedAt) + READABLE_AFTER_DELETION_MS <= nowMs;
}

/** Stops when it is TERMINATED no more. */
async function clearTable<Row extends { readonly peeringId: string; readonly service: string }>(
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
