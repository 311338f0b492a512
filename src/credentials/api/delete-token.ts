/** `DELETE /v1/acl/token/:accessor`: idempotent; queries that wait with the token end with 403. */
import { aclTokens } from '../acl-token.ts';
import { authorizeGrants, recordTokenChange } from '../change-token.ts';
import { type Asked, type Credentials, originOf, writeFor } from '../operation.ts';
import { findToken } from './find-token.ts';

/** @throws ServiceError `bad-request` | `permission-denied`, StateError */
export function deleteToken(credentials: Credentials, asked: Asked, accessorId: string): Promise<void> {
  return writeFor(credentials, asked, (tx) => {
    const { caller, stored } = findToken(credentials, tx, asked, accessorId, 'write');
    if (stored === undefined) return;
    authorizeGrants(caller, stored.row.grants);
    tx.delete(aclTokens, stored.row.accessorId);
    recordTokenChange(tx, originOf(asked, caller), 'delete', stored, undefined);
  });
}
