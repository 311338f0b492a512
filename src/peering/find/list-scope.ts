/** The partitions that a list covers: one, or with `*` all in which the caller may read something. */

import { permitsAnyName, type Resource } from '../../credentials/acl-token.ts';
import {
  type Caller,
  type Credentials,
  permissionDenied,
  readablePartitions,
  watchOwnToken,
} from '../../credentials/caller.ts';
import { ALL_PARTITIONS, existingPartition, partitions } from '../../credentials/partition.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { Watched } from '../../state/state.ts';

export interface ListScope {
  /** In their original spelling, sorted. */
  readonly partitions: readonly string[];
  /** Whether partitions were omitted because the caller may not read them. */
  readonly filtered: boolean;
}

/**
 * Returns the requested partition, or with `*` those in which the caller may read something.
 * @throws ServiceError `permission-denied` when the caller may read nothing there, even if it is empty; `bad-request`
 */
export function resolveListScope(reader: Reader, caller: Caller, partition: string, resource: Resource): ListScope {
  if (partition === ALL_PARTITIONS) {
    const { names, filtered } = readablePartitions(reader, caller, resource);
    return { partitions: names, filtered };
  }
  if (!permitsAnyName(caller.grants, resource, 'read', partition))
    throw permissionDenied(caller, { resource, access: 'read' });
  return { partitions: [existingPartition(reader, partition)], filtered: false };
}

/** Returns what a list depends on besides its content: the caller's grants, and with `*` the set of partitions. */
export const watchedScope = (credentials: Credentials, caller: Caller, partition: string): readonly Watched[] => [
  ...watchOwnToken(credentials, caller),
  ...(partition === ALL_PARTITIONS ? [credentials.state.watchEntry(partitions, 'all', '')] : []),
];
