/** `DELETE /v1/partition/:name`. Rejected while something refers to the partition [ACL-62]. */
import { recordChange } from '../../audit/record.ts';
import { ServiceError } from '../../http/errors.ts';
import type { Reader } from '../../state/memory/reader.ts';
import { aclTokens } from '../acl-token.ts';
import {
  authorize,
  type Credentials,
  originOf,
  type RequestContext,
  resolveCaller,
  writeForRequest,
} from '../caller.ts';
import { checkPartitionName, DEFAULT_PARTITION, partitionKey, partitions, partitionToJson } from '../partition.ts';

/** Returns the text for one user of a partition, such as `peering "east"`, or undefined. `partition` is the key. */
export type PartitionUse = (reader: Reader, partition: string) => string | undefined;

/** @throws ServiceError `bad-request` | `permission-denied` | `conflict`, StateError */
export async function deletePartition(
  credentials: Credentials,
  context: RequestContext,
  name: string,
  uses: readonly PartitionUse[],
): Promise<void> {
  checkPartitionName(name, credentials.edition);
  await writeForRequest(credentials, context, (tx) => {
    const { caller } = resolveCaller(credentials, tx, context);
    authorize(caller, { resource: 'operator', access: 'write', partition: name });
    const key = partitionKey(name);
    if (key === DEFAULT_PARTITION)
      throw new ServiceError('conflict', `partition "${DEFAULT_PARTITION}" cannot be deleted`);
    const before = tx.get(partitions, key);
    if (before === undefined) return;
    for (const use of [usedByTokens, ...uses]) {
      const user = use(tx, key);
      if (user !== undefined)
        throw new ServiceError('conflict', `partition "${before.row.name}" is still named by ${user}`);
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

/** Scans every token, which takes 100 ms for a million tokens. Partitions are deleted rarely. */
const usedByTokens: PartitionUse = (reader, partition) => {
  const [resident] = reader.list(aclTokens, 'partition', partition, { limit: 1 });
  if (resident !== undefined) return `ACL token ${resident.row.accessorId}, which lives in it`;
  const holder = reader
    .all(aclTokens)
    .find(({ row }) => row.grants.some((grant) => partitionKey(grant.Partition) === partition));
  return holder === undefined ? undefined : `a grant of ACL token ${holder.row.accessorId}`;
};
