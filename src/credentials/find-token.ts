/** Finds the token that a request names by its accessor ID, and the partition whose grants decide. */
import { ServiceError } from '../http/errors.ts';
import type { Reader } from '../state/reader.ts';
import type { Stored } from '../state/table.ts';
import { type AclToken, aclTokens } from './acl-token.ts';
import { authorize, type Caller } from './caller.ts';
import type { Access } from './grant.ts';
import { type Asked, type Credentials, locate } from './operation.ts';
import { partitionKey } from './partition.ts';
import { existingPartition } from './request-partition.ts';

export interface FoundToken {
  readonly caller: Caller;
  /** Where the token lives, or would be looked for. */
  readonly partition: string;
  readonly stored: Stored<AclToken> | undefined;
}

/**
 * Looks the token up where the request says. One that names no partition means the token wherever it lives: accessor
 * IDs are unique, and a `DELETE` must not say that a token is gone that lives elsewhere.
 * @throws ServiceError `permission-denied` unless the caller has the access there, `bad-request`
 */
export function findToken(
  credentials: Credentials,
  reader: Reader,
  asked: Asked,
  accessorId: string,
  access: Access,
): FoundToken {
  const { caller, named, partition: own } = locate(credentials, reader, asked);
  const stored = reader.get(aclTokens, accessorId.toLowerCase());
  const partition = named ?? stored?.row.partition ?? own;
  authorize(caller, { resource: 'acl', access, partition });
  existingPartition(reader, partition);
  const here = stored !== undefined && partitionKey(stored.row.partition) === partitionKey(partition);
  return { caller, partition, stored: here ? stored : undefined };
}

/** The refusal for a token that is not there. */
export function tokenNotFound(accessorId: string): ServiceError {
  return new ServiceError('not-found', `ACL token not found for "${accessorId}"`);
}
