/** `GET /v1/acl/token/:accessor` and `GET /v1/acl/token/self`. Both support blocking queries. */
import type { Evaluate, ReadResult } from '../../http/blocking/blocking-query.ts';
import { ServiceError } from '../../http/errors.ts';
import type { Stored } from '../../state/table.ts';
import { type AclToken, aclTokens, permitsAnyName, RESOURCES } from '../acl-token.ts';
import { aclTokenJsonText } from '../acl-token-to-json.ts';
import {
  type Caller,
  type Credentials,
  permissionDenied,
  type RequestContext,
  resolveCaller,
  waitOptionsOf,
} from '../caller.ts';
import { existingPartition, partitionKey } from '../partition.ts';
import { findToken, tokenNotFound } from './find-token.ts';

/** Reads a token. The 404 of a missing token has an index, so that a client can wait for the token [V1-77]. */
export function readToken(credentials: Credentials, context: RequestContext, accessorId: string): Evaluate {
  return (snapshot) => {
    const { caller, partition, stored } = findToken(credentials, snapshot, context, accessorId, 'read');
    if (stored !== undefined) return tokenResult(credentials, caller, stored);
    // Not the row, because its index would reveal a token of another partition.
    const watched = credentials.state.watchEntry(aclTokens, 'partition', partitionKey(partition));
    return { ...waitOptionsOf(caller), watched, error: tokenNotFound(accessorId) };
  };
}

/** Reads the caller's own token. Requires no grant [ACL-36]. */
export function readSelf(credentials: Credentials, context: RequestContext): Evaluate {
  return (snapshot) => {
    const { caller, requestedPartition } = resolveCaller(credentials, snapshot, context);
    if (!credentials.policy.enabled) {
      throw new ServiceError('not-found', 'tokens are not checked: acl.enabled is false, so every request is allowed');
    }
    const stored = caller.accessorId === undefined ? undefined : snapshot.get(aclTokens, caller.accessorId);
    if (stored === undefined) throw permissionDenied(caller, { resource: 'acl', access: 'read' });
    if (requestedPartition !== undefined && hasGrantIn(caller, requestedPartition)) {
      existingPartition(snapshot, requestedPartition);
    }
    return tokenResult(credentials, caller, stored);
  };
}

/** Whether the caller may know that the partition exists [ACL-50]. */
const hasGrantIn = ({ grants }: Caller, partition: string): boolean =>
  RESOURCES.some((resource) => permitsAnyName(grants, resource, 'read', partition));

function tokenResult({ state }: Credentials, caller: Caller, stored: Stored<AclToken>): ReadResult {
  const watched = state.watchRow(aclTokens, stored.row.accessorId);
  return { ...waitOptionsOf(caller), watched, body: () => aclTokenJsonText(stored) };
}
