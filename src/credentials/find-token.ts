/** Looks a token up in a partition, for operations that name it by its accessor ID. */
import { ServiceError } from '../http/errors.ts';
import type { Reader } from '../state/reader.ts';
import type { Stored } from '../state/table.ts';
import { type AclToken, aclTokens } from './acl-token.ts';
import { partitionKey } from './partition.ts';

/** The token, if it lives in the partition: one in another is as good as none, so that nobody learns of it. */
export function findToken(reader: Reader, accessorId: string, partition: string): Stored<AclToken> | undefined {
  const stored = reader.get(aclTokens, accessorId.toLowerCase());
  const here = stored !== undefined && partitionKey(stored.row.partition) === partitionKey(partition);
  return here ? stored : undefined;
}

/** The refusal for a token that is not there. */
export function tokenNotFound(accessorId: string): ServiceError {
  return new ServiceError('not-found', `ACL token not found for "${accessorId}"`);
}
