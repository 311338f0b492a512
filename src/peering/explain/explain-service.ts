/** `GET /v1/peering/:name/explain`: where a service stops on its way to a peer, or from it. */
import { authorize } from '../../credentials/caller.ts';
import { type Asked, type Credentials, locate } from '../../credentials/operation.ts';
import { findPeering, peeringNotFound } from '../find/find-peering.ts';
import { checkPeerName } from '../record/peer-name.ts';
import type { Explanation } from './diagnosis.ts';
import { outgoingWalk } from './explain-export.ts';
import { incomingWalk } from './explain-import.ts';
import { type HeldStreams, heldStream } from './local-stream.ts';

export interface Explaining {
  readonly credentials: Credentials;
  readonly streams: HeldStreams;
}

/**
 * Needs `peering:read` for the peering and `services:read` for the service.
 * @param service a name that could be a service's
 * @throws ServiceError `bad-request` | `permission-denied` | `not-found` | `unavailable`
 */
export async function explainService(
  { credentials, streams }: Explaining,
  asked: Asked,
  { name, service }: { readonly name: string; readonly service: string },
): Promise<Explanation> {
  checkPeerName(name);
  const { state } = credentials;
  await state.consistent();
  const { snapshot } = state;
  const located = locate(credentials, snapshot, asked);
  authorize(located.caller, { resource: 'peering', access: 'read', partition: located.partition, name });
  // Before anything is looked for: who may not read it learns nothing.
  authorize(located.caller, { resource: 'services', access: 'read', partition: located.partition, name: service });
  const { stored } = findPeering(credentials, snapshot, { asked, name, access: 'read' });
  if (stored === undefined) throw peeringNotFound(name);
  const { row } = stored;
  const stream = heldStream(streams, row);
  const explained = { row, service, stream };
  return {
    Service: service,
    Peer: row.name,
    ...(stream.kind === 'elsewhere' && { Server: stream.server }),
    Outgoing: outgoingWalk(snapshot, explained),
    Incoming: incomingWalk(snapshot, explained),
  };
}
