/** `GET /v1/peering/:name/explain`: diagnoses a service exported to a peer, or imported from it ([SVC-93]). */
import { authorize, type Credentials, type RequestContext, resolveCaller } from '../../credentials/caller.ts';
import { findPeering, peeringNotFound } from '../find/find-peering.ts';
import { checkPeerName } from '../record/record.ts';
import type { Explanation } from './diagnosis.ts';
import { diagnoseExport } from './explain-export.ts';
import { diagnoseImport } from './explain-import.ts';
import { type LocalStreams, locateStream } from './local-stream.ts';

export interface ExplainDependencies {
  readonly credentials: Credentials;
  readonly streams: LocalStreams;
}

/**
 * Diagnoses a service in both directions. Requires `peering:read` on the peering and `services:read` on the service.
 * @param service a syntactically valid name
 * @throws ServiceError `bad-request` | `permission-denied` | `not-found` | `unavailable`
 */
export async function explainService(
  { credentials, streams }: ExplainDependencies,
  context: RequestContext,
  { name, service }: { readonly name: string; readonly service: string },
): Promise<Explanation> {
  checkPeerName(name);
  const { state } = credentials;
  await state.consistent();
  const { snapshot } = state;
  const located = resolveCaller(credentials, snapshot, context);
  authorize(located.caller, { resource: 'peering', access: 'read', partition: located.partition, name });
  // Checked before any lookup, so that callers without the grant cannot learn what exists.
  authorize(located.caller, { resource: 'services', access: 'read', partition: located.partition, name: service });
  const { stored } = findPeering(credentials, snapshot, { context, name, access: 'read' });
  if (stored === undefined) throw peeringNotFound(name);
  const { row } = stored;
  const stream = locateStream(streams, row);
  const input = { peering: row, service, stream };
  return {
    Service: service,
    Peer: row.name,
    ...(stream.kind === 'elsewhere' && { Server: stream.server }),
    Outgoing: diagnoseExport(snapshot, input),
    Incoming: diagnoseImport(snapshot, input),
  };
}
