/** `GET /v1/operator/ca`: reads the certificate authority. Supports blocking queries. */
import { authorize, type RequestContext, resolveCaller, waitOptionsOf } from '../../../credentials/caller.ts';
import { partitionKey, partitions } from '../../../credentials/partition.ts';
import type { Evaluate } from '../../../http/blocking/blocking-query.ts';
import type { Snapshot } from '../../../state/memory/snapshot.ts';
import type { State, Watched } from '../../../state/state.ts';
import { peerings } from '../../record/record.ts';
import { acknowledgments, awaitedBundle } from '../acknowledgment.ts';
import { AUTHORITY_KEY, authorities } from '../authority.ts';
import { authorityToJson } from './authority-to-json.ts';
import { CLUSTER_WIDE, type TrustContext } from './trust-context.ts';

export function readAuthority({ credentials, name }: TrustContext, context: RequestContext): Evaluate {
  return (snapshot) => {
    const { caller } = resolveCaller(credentials, snapshot, context);
    authorize(caller, { resource: 'operator', access: 'read', partition: CLUSTER_WIDE });
    const watched = [
      credentials.state.watchRow(authorities, AUTHORITY_KEY),
      ...watchedPeers(credentials.state, snapshot),
    ];
    return { ...waitOptionsOf(caller), watched, body: () => authorityToJson(snapshot, name) };
  };
}

/** Returns what to watch for changes of the awaited peers: acknowledgments and peerings. */
function watchedPeers(state: State, snapshot: Snapshot): Watched[] {
  const bundle = awaitedBundle(snapshot);
  if (bundle === undefined) return [];
  return [
    state.watchEntry(acknowledgments, 'bundle', bundle),
    state.watchEntry(partitions, 'all', ''),
    ...snapshot.all(partitions).map(({ row }) => state.watchEntry(peerings, 'partition', partitionKey(row.name))),
  ];
}
