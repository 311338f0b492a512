/** Authorizes a request for an entry and finds the entry. A caller without the grant cannot probe which exist. */

import type { Access } from '../../../credentials/acl-token.ts';
import {
  authorize,
  type Caller,
  type Credentials,
  type RequestContext,
  resolveCaller,
} from '../../../credentials/caller.ts';
import { existingPartition, partitionKey } from '../../../credentials/partition.ts';
import { ServiceError } from '../../../http/errors.ts';
import type { Reader } from '../../../state/memory/reader.ts';
import type { Stored } from '../../../state/table.ts';
import { type ConfigEntry, configEntries, entryKey, type Kind } from '../config-entry.ts';
import { checkServiceName } from '../edit/check-names.ts';

/** The entry that a request names, and the access that it requires. */
export interface EntryRequest {
  readonly context: RequestContext;
  readonly kind: Kind;
  readonly name: string;
  readonly access: Access;
}

export interface EntryLookup {
  readonly caller: Caller;
  /** Spelled as at the creation of the partition. */
  readonly partition: string;
  /** The primary key of the entry, also if it is missing. */
  readonly key: string;
  readonly stored: Stored<ConfigEntry> | undefined;
}

/** @throws ServiceError `bad-request` | `permission-denied` */
export function findEntry(credentials: Credentials, reader: Reader, request: EntryRequest): EntryLookup {
  const { context, kind, name, access } = request;
  checkServiceName('Name', name);
  const { caller, partition: named } = resolveCaller(
    credentials,
    reader,
    withEntryPartition(credentials, context, kind, name),
  );
  authorize(caller, { resource: 'config', access, partition: named, name });
  const partition = existingPartition(reader, named);
  const key = entryKey(partition, kind, name);
  return { caller, partition, key, stored: reader.get(configEntries, key) };
}

/**
 * Adds the partition that the name of an `exported-services` entry selects ([SVC-71]).
 * @throws ServiceError `bad-request` if the body names another partition
 */
function withEntryPartition(
  { edition }: Credentials,
  context: RequestContext,
  kind: Kind,
  name: string,
): RequestContext {
  if (kind !== 'exported-services' || edition === 'community') return context;
  const { body } = context.partitions;
  if (body !== undefined && body !== '' && partitionKey(body) !== partitionKey(name)) {
    throw new ServiceError('bad-request', `the request names two partitions, "${body}" and "${name}": want one`);
  }
  return { ...context, partitions: { ...context.partitions, body: name } };
}

/** Returns the error for a missing entry ([SVC-67]). */
export const entryNotFound = (kind: Kind, name: string): ServiceError =>
  new ServiceError('not-found', `Config entry not found for "${kind}" / "${name}"`);
