/** `DELETE /v1/partition/:name`: idempotent; refused while anything names the partition. */
import { recordChange } from '../../audit/record.ts';
import { ServiceError } from '../../http/errors.ts';
import type { Reader } from '../../state/memory/reader.ts';
import { aclTokens } from '../acl-token.ts';
import { authorize } from '../caller.ts';
import { type Asked, type Credentials, locate, originOf, writeFor } from '../operation.ts';
import { DEFAULT_PARTITION, partitionKey, partitions, showPartition } from '../partition.ts';
import { checkPartitionName } from '../request-partition.ts';

/** What still names a partition, in words that follow "is still named by"; undefined: nothing does. */
export type PartitionUse = (reader: Reader, partition: string) => string | undefined;

/** @throws ServiceError `bad-request` | `permission-denied` | `conflict`, StateError */
export async function deletePartition(
  credentials: Credentials,
  asked: Asked,
  name: string,
  uses: readonly PartitionUse[],
): Promise<void> {
  checkPartitionName(name, credentials.edition);
  await writeFor(credentials, asked, (tx) => {
    const { caller } = locate(credentials, tx, asked);
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
    recordChange(tx, originOf(asked, caller), {
      action: 'delete',
      type: 'partition',
      subject: before.row.name,
      partition: before.row.name,
      before: showPartition(before),
      after: null,
    });
  });
}

/** Looks at every token for one in it and for grants: deleting a partition is rare, and costs 100 ms at a million. */
const usedByTokens: PartitionUse = (reader, partition) => {
  const [resident] = reader.list(aclTokens, 'partition', partition, { limit: 1 });
  if (resident !== undefined) return `ACL token ${resident.row.accessorId}, which lives in it`;
  const holder = reader
    .all(aclTokens)
    .find(({ row }) => row.grants.some((grant) => partitionKey(grant.Partition) === partition));
  return holder === undefined ? undefined : `a grant of ACL token ${holder.row.accessorId}`;
};
