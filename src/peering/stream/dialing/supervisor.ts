/**
 * The dialing jobs: one for every peering and every tombstone of the dialing role. Rendezvous hashing over the live
 * servers selects the server that runs a job ([PEER-81]).
 */
import { isStateError } from '../../../state/errors.ts';
import type { Change } from '../../../state/watch/change-feed.ts';
import { peerings } from '../../record/record.ts';
import { tombstones } from '../../record/secrets.ts';
import type { DialerDependencies } from '../stream-dependencies.ts';
import { dialPeering } from './dialer.ts';

/** Adds and removes the jobs when peerings change. Resolves when `signal` aborts. */
export async function superviseDialing(dependencies: DialerDependencies, signal: AbortSignal): Promise<void> {
  const { state } = dependencies;
  const jobs = new Map<string, () => void>();
  const review = (peeringId: string): void => {
    const wanted = isDialed(dependencies, peeringId);
    const end = jobs.get(peeringId);
    if (wanted && end === undefined) {
      const run = (ending: AbortSignal): Promise<void> => dialPeering(dependencies, peeringId, ending);
      jobs.set(peeringId, state.addJob({ name: `dial/${peeringId}`, run }));
    } else if (!wanted && end !== undefined) {
      end();
      jobs.delete(peeringId);
    }
  };
  while (!signal.aborted) {
    // Opens the change feed before it reads the rows, so that no change is missed.
    const changes = state.changes(signal);
    for (const { row } of state.snapshot.list(peerings, 'role', 'dialing')) review(row.id);
    for (const { row } of state.snapshot.list(tombstones, 'role', 'dialing')) review(row.peeringId);
    for (const peeringId of jobs.keys()) review(peeringId);
    try {
      for await (const change of changes) for (const peeringId of peeringIdsIn(change)) review(peeringId);
    } catch (error) {
      // The feed fell behind, or the state was reloaded, so all rows are read again.
      if (!isStateError(error, 'fell-behind')) throw error;
    }
  }
  for (const end of jobs.values()) end();
}

function isDialed({ state }: DialerDependencies, peeringId: string): boolean {
  const { snapshot } = state;
  return (
    snapshot.get(tombstones, peeringId)?.row.role === 'dialing' ||
    snapshot.get(peerings, peeringId)?.row.role === 'dialing'
  );
}

function peeringIdsIn({ changes }: Change): Set<string> {
  const touched = new Set<string>();
  for (const { table, key } of changes) if (table === peerings || table === tombstones) touched.add(key);
  return touched;
}
