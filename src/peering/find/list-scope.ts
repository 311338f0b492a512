/** What a list spans: one partition, or all that the caller may read something in. */
import { type Caller, lacks } from '../../credentials/caller.ts';
import { permitsSome, type Resource } from '../../credentials/grant.ts';
import { type Credentials, watchedGrants } from '../../credentials/operation.ts';
import { partitions } from '../../credentials/partition.ts';
import { readablePartitions } from '../../credentials/readable-partitions.ts';
import { ALL_PARTITIONS, existingPartition } from '../../credentials/request-partition.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { Watched } from '../../state/state.ts';

export interface Span {
  /** As first named, sorted. */
  readonly partitions: readonly string[];
  /** Others were left out. */
  readonly filtered: boolean;
}

/**
 * The partition asked for, or with `*` those where the caller may read something.
 * @throws ServiceError `permission-denied` for a caller who may read nothing there, whatever there is; `bad-request`
 */
export function spanOf(reader: Reader, caller: Caller, partition: string, resource: Resource): Span {
  if (partition === ALL_PARTITIONS) {
    const { names, filtered } = readablePartitions(reader, caller, resource);
    return { partitions: names, filtered };
  }
  if (!permitsSome(caller.grants, resource, 'read', partition)) throw lacks(caller, { resource, access: 'read' });
  return { partitions: [existingPartition(reader, partition)], filtered: false };
}

/** What a list of this span depends on besides what stands in it: with other grants, or partitions, it is another one. */
export const watchedSpan = (credentials: Credentials, caller: Caller, partition: string): readonly Watched[] => [
  ...watchedGrants(credentials, caller),
  ...(partition === ALL_PARTITIONS ? [credentials.state.watchEntry(partitions, 'all', '')] : []),
];
