/** `DELETE /v1/partition/:name`. Rejected while something refers to the partition [ACL-62]. */
import { recordChange } from '../../audit/record.ts';
import { ServiceError } from '../../http/errors.ts';
import { filterInSlices, type Steps } from '../../state/clock/slices.ts';
import { allInSlices, type Reader } from '../../state/memory/reader.ts';
import { aclTokens, type Permission, permits } from '../acl-token.ts';
import {
  authorize,
  type Credentials,
  originOf,
  type RequestContext,
  resolveCaller,
  writeInSlicesForRequest,
} from '../caller.ts';
import { checkPartitionName, DEFAULT_PARTITION, partitionKey, partitions, partitionToJson } from '../partition.ts';

/** Something that uses a partition. */
export interface PartitionUser {
  /** Such as `peering "east"`. */
  readonly text: string;
  /** The permission with which a caller may learn of it. Others get a text that names nothing. */
  readonly needs: Permission;
}

/** Returns one user of a partition, or undefined. `partition` is the key. */
export type PartitionUse = (reader: Reader, partition: string) => PartitionUser | undefined;

/** @throws ServiceError `bad-request` | `permission-denied` | `conflict`, StateError */
export async function deletePartition(
  credentials: Credentials,
  context: RequestContext,
  name: string,
  uses: readonly PartitionUse[],
): Promise<void> {
  checkPartitionName(name, credentials.edition);
  await writeInSlicesForRequest(credentials, context, function* (tx) {
    const { caller } = resolveCaller(credentials, tx, context);
    authorize(caller, { resource: 'operator', access: 'write', partition: name });
    const key = partitionKey(name);
    if (key === DEFAULT_PARTITION)
      throw new ServiceError('conflict', `partition "${DEFAULT_PARTITION}" cannot be deleted`);
    const before = tx.get(partitions, key);
    if (before === undefined) return;
    const users = [yield* tokenThatUses(tx, key), ...uses.map((use) => use(tx, key))];
    for (const user of users) {
      if (user === undefined) continue;
      const { resource } = user.needs;
      const text = permits(caller.grants, user.needs) ? user.text : `something that only '${resource}:read' may see`;
      throw new ServiceError('conflict', `partition "${before.row.name}" is still named by ${text}`);
    }
    tx.delete(partitions, key);
    recordChange(tx, originOf(context, caller), {
      action: 'delete',
      type: 'partition',
      subject: before.row.name,
      partition: before.row.name,
      before: partitionToJson(before),
      after: null,
    });
  });
}

/** Scans every token. Partitions are deleted rarely. */
function* tokenThatUses(reader: Reader, partition: string): Steps<PartitionUser | undefined> {
  const [resident] = reader.list(aclTokens, 'partition', partition, { limit: 1 });
  if (resident !== undefined) {
    return { text: `ACL token ${resident.row.accessorId}, which lives in it`, needs: readTokens(partition) };
  }
  const [holder] = yield* filterInSlices(yield* allInSlices(reader, aclTokens), ({ row }) =>
    row.grants.some((grant) => partitionKey(grant.Partition) === partition),
  );
  if (holder === undefined) return undefined;
  return { text: `a grant of ACL token ${holder.row.accessorId}`, needs: readTokens(holder.row.partition) };
}

const readTokens = (partition: string): Permission => ({ resource: 'acl', access: 'read', partition });
