/**
 * Who dials: for every peering that this cluster dials, and for every deleted one whose other side has still to be
 * told, there is a job; rendezvous hashing over the live servers picks the one where it runs.
 */

import { isStateError } from '../../../state/errors.ts';
import type { Change } from '../../../state/watch/change-feed.ts';
import { peerings } from '../../record/record.ts';
import { tombstones } from '../../record/secrets.ts';
import type { DialerParts } from '../stream-dependencies.ts';
import { dialPeering } from './dialer.ts';

/** Starts and ends the jobs as peerings come and go. Resolves when `signal` aborts. */
export async function superviseDialing(parts: DialerParts, signal: AbortSignal): Promise<void> {
  const { state } = parts;
  const jobs = new Map<string, () => void>();
  const review = (peeringId: string): void => {
    const wanted = isDialed(parts, peeringId);
    const end = jobs.get(peeringId);
    if (wanted && end === undefined) {
      const run = (ending: AbortSignal): Promise<void> => dialPeering(parts, peeringId, ending);
      jobs.set(peeringId, state.addJob({ name: `dial/${peeringId}`, run }));
    } else if (!wanted && end !== undefined) {
      end();
      jobs.delete(peeringId);
    }
  };
  while (!signal.aborted) {
    // Followed first and read then: what changes in between is looked at twice.
    const changes = state.changes(signal);
    for (const { row } of state.snapshot.list(peerings, 'role', 'dialing')) review(row.id);
    for (const { row } of state.snapshot.list(tombstones, 'role', 'dialing')) review(row.peeringId);
    for (const peeringId of jobs.keys()) review(peeringId);
    try {
      for await (const change of changes) for (const peeringId of touchedBy(change)) review(peeringId);
    } catch (error) {
      // Too many changes at once, or the state was loaded again: everything is looked at again.
      if (!isStateError(error, 'fell-behind')) throw error;
    }
  }
  for (const end of jobs.values()) end();
}

function isDialed({ state }: DialerParts, peeringId: string): boolean {
  const { snapshot } = state;
  return (
    snapshot.get(tombstones, peeringId)?.row.role === 'dialing' ||
    snapshot.get(peerings, peeringId)?.row.role === 'dialing'
  );
}

function touchedBy({ changes }: Change): Set<string> {
  const touched = new Set<string>();
  for (const { table, key } of changes) if (table === peerings || table === tombstones) touched.add(key);
  return touched;
}
