/** `GET /v1/operator/ca`: where the certificate authority stands; can wait. */
import { authorize } from '../../../credentials/caller.ts';
import { type Asked, locate, waitingAs } from '../../../credentials/operation.ts';
import { partitionKey, partitions } from '../../../credentials/partition.ts';
import type { Evaluate } from '../../../http/blocking/reads.ts';
import type { Snapshot } from '../../../state/memory/snapshot.ts';
import type { State, Watched } from '../../../state/state.ts';
import { peerings } from '../../record/record.ts';
import { acknowledgements, awaitedBundle } from '../acknowledgement.ts';
import { AUTHORITY_KEY, authorities } from '../authority.ts';
import { showAuthority } from './authority-to-json.ts';
import { CLUSTER_WIDE, type Trust } from './operation.ts';

/** The document of show-authority.ts. */
export function readAuthority({ credentials, name }: Trust, asked: Asked): Evaluate {
  return (snapshot) => {
    const { caller } = locate(credentials, snapshot, asked);
    authorize(caller, { resource: 'operator', access: 'read', partition: CLUSTER_WIDE });
    const watched = [
      credentials.state.watchRow(authorities, AUTHORITY_KEY),
      ...watchedPeers(credentials.state, snapshot),
    ];
    return { ...waitingAs(caller), watched, body: () => showAuthority(snapshot, name) };
  };
}

/** What tells of the peers that are waited for. */
function watchedPeers(state: State, snapshot: Snapshot): Watched[] {
  const bundle = awaitedBundle(snapshot);
  if (bundle === undefined) return [];
  return [
    state.watchEntry(acknowledgements, 'bundle', bundle),
    state.watchEntry(partitions, 'all', ''),
    ...snapshot.all(partitions).map(({ row }) => state.watchEntry(peerings, 'partition', partitionKey(row.name))),
  ];
}
