/** Lookup of the peering that a request names, and blocking queries about one peering. */

import type { Access } from '../../credentials/acl-token.ts';
import {
  authorize,
  type Caller,
  type Credentials,
  type RequestContext,
  resolveCaller,
  waitOptionsOf,
} from '../../credentials/caller.ts';
import { existingPartition, partitionKey } from '../../credentials/partition.ts';
import type { Evaluate, ReadResult } from '../../http/blocking/blocking-query.ts';
import { ServiceError } from '../../http/errors.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { Snapshot } from '../../state/memory/snapshot.ts';
import type { Watched } from '../../state/state.ts';
import type { Stored } from '../../state/table.ts';
import type { PeeringService } from '../peering-context.ts';
import { checkPeerName, nameEntry, type Peering, peerings } from '../record/record.ts';

/** The peering that a request names, and the access that it needs. */
export interface PeeringRequest {
  readonly context: RequestContext;
  readonly name: string;
  readonly access: Access;
}

export interface FoundPeering {
  readonly caller: Caller;
  /** In its original spelling. */
  readonly partition: string;
  readonly stored: Stored<Peering> | undefined;
}

/**
 * Finds a peering. Checks the grant on the name first, so that a caller without it cannot learn whether the peering or
 * the partition exists. @throws ServiceError `bad-request` | `permission-denied`
 */
export function findPeering(
  credentials: Credentials,
  reader: Reader,
  { context, name, access }: PeeringRequest,
): FoundPeering {
  const { caller, partition: requested } = resolveCaller(credentials, reader, context);
  authorize(caller, { resource: 'peering', access, partition: requested, name });
  const partition = existingPartition(reader, requested);
  return { caller, partition, stored: reader.find(peerings, 'name', nameEntry(partition, name)) };
}

export function withBodyPartition(context: RequestContext, partition: string | undefined): RequestContext {
  return { ...context, partitions: { ...context.partitions, body: partition } };
}

export function peeringNotFound(name: string): ServiceError {
  return new ServiceError('not-found', `Peering not found for "${name}"`);
}

/** The result of a query about one peering. `alsoWatched` adds to the record and the caller's token. */
export interface PeeringQueryResult extends Pick<ReadResult, 'body' | 'longBody' | 'expiresAtMs'> {
  readonly alsoWatched?: readonly Watched[];
}

/** Creates a blocking query about a peering, which may not exist yet ([PEER-12]). @throws ServiceError `bad-request` */
export function peeringQuery(
  { credentials }: PeeringService,
  request: PeeringRequest,
  read: (stored: Stored<Peering>, snapshot: Snapshot) => PeeringQueryResult,
): Evaluate {
  checkPeerName(request.name);
  const { state } = credentials;
  return (snapshot) => {
    const { caller, partition, stored } = findPeering(credentials, snapshot, request);
    if (stored === undefined) {
      const watched = state.watchEntry(peerings, 'partition', partitionKey(partition));
      return { ...waitOptionsOf(caller), watched, error: peeringNotFound(request.name) };
    }
    const { alsoWatched = [], expiresAtMs, ...result } = read(stored, snapshot);
    const waiting = waitOptionsOf(caller);
    return {
      ...waiting,
      expiresAtMs: earlier(waiting.expiresAtMs, expiresAtMs),
      watched: [state.watchRow(peerings, stored.row.id), ...alsoWatched],
      ...result,
    };
  };
}

const earlier = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);
