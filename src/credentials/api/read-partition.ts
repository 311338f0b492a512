/** `GET /v1/partition/:name` and `GET /v1/partitions`; both can wait. */

import type { Evaluate } from '../../http/blocking/blocking-query.ts';
import { ServiceError } from '../../http/errors.ts';
import { authorize } from '../caller.ts';
import { type Asked, type Credentials, locate, waitingAs, watchedGrants } from '../operation.ts';
import { partitionKey, partitions, showPartition } from '../partition.ts';
import { readablePartitions } from '../readable-partitions.ts';
import { checkPartitionName, requirePartitions } from '../request-partition.ts';

/** One partition; where there is none, a client can wait for it to appear. */
export function readPartition(credentials: Credentials, asked: Asked, name: string): Evaluate {
  const { state, edition } = credentials;
  return (snapshot) => {
    checkPartitionName(name, edition);
    const { caller } = locate(credentials, snapshot, asked);
    authorize(caller, { resource: 'operator', access: 'read', partition: name });
    const watched = state.watchRow(partitions, partitionKey(name));
    const stored = snapshot.get(partitions, partitionKey(name));
    if (stored !== undefined) return { ...waitingAs(caller), watched, body: () => showPartition(stored) };
    return { ...waitingAs(caller), watched, error: new ServiceError('not-found', `Partition not found for "${name}"`) };
  };
}

/** The partitions that the caller may read, by name. */
export function listPartitions(credentials: Credentials, asked: Asked): Evaluate {
  const { state, edition } = credentials;
  return (snapshot) => {
    requirePartitions(edition);
    const { caller } = locate(credentials, snapshot, asked, true);
    const { names, filtered } = readablePartitions(snapshot, caller, 'operator');
    const readable = new Set(names);
    return {
      ...waitingAs(caller),
      watched: [state.watchEntry(partitions, 'all', ''), ...watchedGrants(credentials, caller)],
      filtered,
      body: () =>
        snapshot
          .all(partitions)
          .filter(({ row }) => readable.has(row.name))
          .map(showPartition),
    };
  };
}
