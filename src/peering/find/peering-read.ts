/** Reads about one peering, by its name: what all of them have in common. */
import { waitingAs } from '../../credentials/operation.ts';
import { partitionKey } from '../../credentials/partition.ts';
import type { Evaluate, ReadResult } from '../../http/blocking/reads.ts';
import type { Snapshot } from '../../state/memory/snapshot.ts';
import type { Watched } from '../../state/state.ts';
import type { Stored } from '../../state/table.ts';
import type { PeeringService } from '../peering-context.ts';
import { checkPeerName } from '../record/peer-name.ts';
import { type Peering, peerings } from '../record/record.ts';
import { findPeering, peeringNotFound, type Wanted } from './find-peering.ts';

/** What is read of a peering that is there; its record is watched anyway, and the caller's token. */
export interface ReadOfPeering extends Pick<ReadResult, 'body' | 'expiresAtMs'> {
  readonly alsoWatched?: readonly Watched[];
}

/**
 * Can wait, also for a peering that is not there yet.
 * @throws ServiceError `bad-request`
 */
export function readOfPeering(
  { credentials }: PeeringService,
  wanted: Wanted,
  read: (stored: Stored<Peering>, snapshot: Snapshot) => ReadOfPeering,
): Evaluate {
  checkPeerName(wanted.name);
  const { state } = credentials;
  return (snapshot) => {
    const { caller, partition, stored } = findPeering(credentials, snapshot, wanted);
    if (stored === undefined) {
      const watched = state.watchEntry(peerings, 'partition', partitionKey(partition));
      return { ...waitingAs(caller), watched, error: peeringNotFound(wanted.name) };
    }
    const { alsoWatched = [], expiresAtMs, ...result } = read(stored, snapshot);
    const waiting = waitingAs(caller);
    return {
      ...waiting,
      expiresAtMs: earlier(waiting.expiresAtMs, expiresAtMs),
      watched: [state.watchRow(peerings, stored.row.id), ...alsoWatched],
      ...result,
    };
  };
}

/** Of two times that may not be there. */
const earlier = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);
