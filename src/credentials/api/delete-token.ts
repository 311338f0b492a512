/** `DELETE /v1/acl/token/:accessor`. Deleting a missing token succeeds [ACL-44]. */
import { aclTokens } from '../acl-token.ts';
import { type Credentials, originOf, type RequestContext, writeForRequest } from '../caller.ts';
import { authorizeGrants, recordTokenChange } from '../change-token.ts';
import { findToken } from './find-token.ts';

/** @throws ServiceError `bad-request` | `permission-denied`, StateError */
export function deleteToken(credentials: Credentials, context: RequestContext, accessorId: string): Promise<void> {
  return writeForRequest(credentials, context, (tx) => {
    const { caller, stored } = findToken(credentials, tx, context, accessorId, 'write');
    if (stored === undefined) return;
    authorizeGrants(caller, stored.row.grants);
    tx.delete(aclTokens, stored.row.accessorId);
    recordTokenChange(tx, originOf(context, caller), 'delete', stored, undefined);
  });
}
