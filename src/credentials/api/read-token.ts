/** `GET /v1/acl/token/:accessor` and `GET /v1/acl/token/self`: one token, without its secret ID; can wait. */

import type { Evaluate, ReadResult } from '../../http/blocking/blocking-query.ts';
import { ServiceError } from '../../http/errors.ts';
import type { Stored } from '../../state/table.ts';
import { type AclToken, aclTokens, tokenText } from '../acl-token.ts';
import { type Caller, lacks } from '../caller.ts';
import { type Asked, type Credentials, locate, waitingAs } from '../operation.ts';
import { existingPartition } from '../request-partition.ts';
import { findToken, tokenNotFound } from './find-token.ts';

/** One token by its accessor ID; where there is none, a client can wait for it to appear. */
export function readToken(credentials: Credentials, asked: Asked, accessorId: string): Evaluate {
  return (snapshot) => {
    const { caller, stored } = findToken(credentials, snapshot, asked, accessorId, 'read');
    if (stored !== undefined) return found(credentials, caller, stored);
    const watched = credentials.state.watchRow(aclTokens, accessorId.toLowerCase());
    return { ...waitingAs(caller), watched, error: tokenNotFound(accessorId) };
  };
}

/** The caller's own token: needs no grant. */
export function readSelf(credentials: Credentials, asked: Asked): Evaluate {
  return (snapshot) => {
    const { caller, named } = locate(credentials, snapshot, asked);
    if (!credentials.policy.enabled) {
      throw new ServiceError('not-found', 'no token is looked at: acl.enabled is false, everybody may do everything');
    }
    const stored = caller.accessorId === undefined ? undefined : snapshot.get(aclTokens, caller.accessorId);
    if (stored === undefined) throw lacks(caller, { resource: 'acl', access: 'read' });
    if (named !== undefined) existingPartition(snapshot, named);
    return found(credentials, caller, stored);
  };
}

function found({ state }: Credentials, caller: Caller, stored: Stored<AclToken>): ReadResult {
  const watched = state.watchRow(aclTokens, stored.row.accessorId);
  return { ...waitingAs(caller), watched, body: () => tokenText(stored) };
}
