/** Finds the token with the accessor ID of a path, and checks the caller's access to it. */
import { ServiceError } from '../../http/errors.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { Stored } from '../../state/table.ts';
import { type Access, type AclToken, aclTokens, permits } from '../acl-token.ts';
import { authorize, type Caller, type Credentials, type RequestContext, resolveCaller } from '../caller.ts';
import { hashSecret, isUuid } from '../ids-and-secrets.ts';
import { existingPartition, partitionKey } from '../partition.ts';

export interface FoundToken {
  readonly caller: Caller;
  /** The requested partition, else that of the token. */
  readonly partition: string;
  /** Undefined if no such token exists in the partition. */
  readonly stored: Stored<AclToken> | undefined;
}

/**
 * Finds a token in the requested partition, or in any partition of the caller if the request names none [ACL-37]. A
 * token in a partition where the caller lacks the access counts as missing, so that accessor IDs cannot be probed.
 * @throws ServiceError `permission-denied` if the caller lacks the access in the partition; `bad-request` for an ID
 *   that is not a UUID [ACL-38] or is a secret ID [ACL-39]
 */
export function findToken(
  credentials: Credentials,
  reader: Reader,
  context: RequestContext,
  accessorId: string,
  access: Access,
): FoundToken {
  checkAccessorId(accessorId);
  const { caller, requestedPartition, partition: own } = resolveCaller(credentials, reader, context);
  const stored = reader.get(aclTokens, accessorId.toLowerCase());
  const home = stored?.row.partition;
  const isOpen = home !== undefined && permits(caller.grants, { resource: 'acl', access, partition: home });
  const partition = requestedPartition ?? (isOpen ? home : own);
  authorize(caller, { resource: 'acl', access, partition });
  existingPartition(reader, partition);
  if (stored === undefined) rejectSecretId(reader, accessorId);
  const here = stored !== undefined && partitionKey(stored.row.partition) === partitionKey(partition);
  return { caller, partition, stored: here ? stored : undefined };
}

/** The error does not repeat the value, because it may be a secret [ACL-38]. */
function checkAccessorId(given: string): void {
  if (isUuid(given)) return;
  const text = 'Invalid accessor ID in the path: want a UUID, as GET /v1/acl/tokens and GET /v1/acl/token/self show it';
  throw new ServiceError('bad-request', text);
}

function rejectSecretId(reader: Reader, given: string): void {
  const token = reader.find(aclTokens, 'secretHash', hashSecret(given));
  if (token === undefined) return;
  // Reveals nothing new, because a caller with the secret ID can read the accessor ID at GET /v1/acl/token/self.
  const text = `Invalid accessor ID in the path: that is the secret ID of the token with AccessorID '${token.row.accessorId}'`;
  throw new ServiceError('bad-request', text);
}

/** Returns the error for a missing token [ACL-40]. */
export function tokenNotFound(accessorId: string): ServiceError {
  return new ServiceError('not-found', `ACL token not found for "${accessorId}"`);
}
