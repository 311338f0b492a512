/** Finds the token that a request names by its accessor ID, and the partition whose grants decide. */
import { ServiceError } from '../../http/errors.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { Stored } from '../../state/table.ts';
import { type AclToken, aclTokens } from '../acl-token.ts';
import { authorize, type Caller } from '../caller.ts';
import type { Access } from '../grant.ts';
import { type Asked, type Credentials, locate } from '../operation.ts';
import { partitionKey } from '../partition.ts';
import { existingPartition } from '../request-partition.ts';
import { hashSecret } from '../secret.ts';
import { isUuid } from '../uuid.ts';

export interface FoundToken {
  readonly caller: Caller;
  /** Where the token lives, or would be looked for. */
  readonly partition: string;
  readonly stored: Stored<AclToken> | undefined;
}

/**
 * Looks the token up where the request says. One that names no partition means the token wherever it lives: accessor
 * IDs are unique, and a `DELETE` must not say that a token is gone that lives elsewhere.
 * @throws ServiceError `permission-denied` unless the caller has the access there; `bad-request`, also for a secret ID:
 *   whoever deletes a token that has leaked must not be told that it is gone
 */
export function findToken(
  credentials: Credentials,
  reader: Reader,
  asked: Asked,
  accessorId: string,
  access: Access,
): FoundToken {
  checkAccessorId(accessorId);
  const { caller, named, partition: own } = locate(credentials, reader, asked);
  const stored = reader.get(aclTokens, accessorId.toLowerCase());
  const partition = named ?? stored?.row.partition ?? own;
  authorize(caller, { resource: 'acl', access, partition });
  existingPartition(reader, partition);
  if (stored === undefined) refuseSecretId(reader, accessorId);
  const here = stored !== undefined && partitionKey(stored.row.partition) === partitionKey(partition);
  return { caller, partition, stored: here ? stored : undefined };
}

/** It is not quoted: it may be a secret of another kind. */
function checkAccessorId(given: string): void {
  if (isUuid(given)) return;
  const text = 'Invalid accessor ID in the path: want a UUID, as GET /v1/acl/tokens and GET /v1/acl/token/self show it';
  throw new ServiceError('bad-request', text);
}

function refuseSecretId(reader: Reader, given: string): void {
  const token = reader.find(aclTokens, 'secretHash', hashSecret(given));
  if (token === undefined) return;
  // No secret from who presents its secret ID: with that, GET /v1/acl/token/self says the same.
  const text = `Invalid accessor ID in the path: that is the secret ID of the token with AccessorID '${token.row.accessorId}'`;
  throw new ServiceError('bad-request', text);
}

/** The refusal for a token that is not there. */
export function tokenNotFound(accessorId: string): ServiceError {
  return new ServiceError('not-found', `ACL token not found for "${accessorId}"`);
}
