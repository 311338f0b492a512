/** Finds the peering that a request names, once the grant for that name is there: who lacks it learns nothing. */
import { authorize, type Caller } from '../../credentials/caller.ts';
import type { Access } from '../../credentials/grant.ts';
import { type Asked, type Credentials, locate } from '../../credentials/operation.ts';
import { existingPartition } from '../../credentials/request-partition.ts';
import { ServiceError } from '../../http/errors.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { Stored } from '../../state/table.ts';
import { nameEntry, type Peering, peerings } from '../record/record.ts';

/** What a request is about. */
export interface Wanted {
  readonly asked: Asked;
  readonly name: string;
  readonly access: Access;
}

export interface FoundPeering {
  readonly caller: Caller;
  /** As it was first named. */
  readonly partition: string;
  readonly stored: Stored<Peering> | undefined;
}

/** @throws ServiceError `bad-request` | `permission-denied` */
export function findPeering(credentials: Credentials, reader: Reader, { asked, name, access }: Wanted): FoundPeering {
  const { caller, partition: wanted } = locate(credentials, reader, asked);
  authorize(caller, { resource: 'peering', access, partition: wanted, name });
  const partition = existingPartition(reader, wanted);
  return { caller, partition, stored: reader.find(peerings, 'name', nameEntry(partition, name)) };
}

/** A request with the partition that its body names. */
export function withBodyPartition(asked: Asked, partition: string | undefined): Asked {
  return { ...asked, partitions: { ...asked.partitions, body: partition } };
}

/** The refusal for a peering that is not there. */
export function peeringNotFound(name: string): ServiceError {
  return new ServiceError('not-found', `Peering not found for "${name}"`);
}
