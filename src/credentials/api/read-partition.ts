/** `GET /v1/partition/:name` and `GET /v1/partitions`. Both support blocking queries. */
import type { Evaluate } from '../../http/blocking/blocking-query.ts';
import { ServiceError } from '../../http/errors.ts';
import { jsonList } from '../../http/v1/json-answer.ts';
import {
  authorize,
  type Credentials,
  type RequestContext,
  readablePartitions,
  resolveCaller,
  waitOptionsOf,
  watchOwnToken,
} from '../caller.ts';
import { checkPartitionName, partitionKey, partitions, partitionToJson, requireEnterprise } from '../partition.ts';

/** Reads a partition. The 404 of a missing one has an index, so that a client can wait for it [V1-77]. */
export function readPartition(credentials: Credentials, context: RequestContext, name: string): Evaluate {
  const { state, edition } = credentials;
  return (snapshot) => {
    checkPartitionName(name, edition);
    const { caller } = resolveCaller(credentials, snapshot, context);
    authorize(caller, { resource: 'operator', access: 'read', partition: name });
    const watched = state.watchRow(partitions, partitionKey(name));
    const stored = snapshot.get(partitions, partitionKey(name));
    if (stored !== undefined) return { ...waitOptionsOf(caller), watched, body: () => partitionToJson(stored) };
    return {
      ...waitOptionsOf(caller),
      watched,
      error: new ServiceError('not-found', `Partition not found for "${name}"`),
    };
  };
}

/**
 * Lists the partitions that the caller may read, by name. Covers every partition, whichever the request names [ACL-51].
 */
export function listPartitions(credentials: Credentials, context: RequestContext): Evaluate {
  const { state, edition } = credentials;
  return (snapshot) => {
    requireEnterprise(edition);
    const { caller } = resolveCaller(credentials, snapshot, context, true);
    const { names, filtered } = readablePartitions(snapshot, caller, 'operator');
    const readable = new Set(names);
    return {
      ...waitOptionsOf(caller),
      watched: [state.watchEntry(partitions, 'all', ''), ...watchOwnToken(credentials, caller)],
      filtered,
      *longBody() {
        const all = snapshot.all(partitions).filter(({ row }) => readable.has(row.name));
        return { json: yield* jsonList(all, (stored) => JSON.stringify(partitionToJson(stored))) };
      },
    };
  };
}
