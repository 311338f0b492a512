/** `DELETE /v1/acl/token/:accessor`: idempotent; queries that wait with the token end with 403. */
import { aclTokens } from './acl-token.ts';
import { authorize } from './caller.ts';
import { authorizeGrants, recordTokenChange } from './change-token.ts';
import { findToken } from './find-token.ts';
import { type Asked, type Credentials, locate, originOf } from './operation.ts';
import { existingPartition } from './request-partition.ts';

/** @throws ServiceError `bad-request` | `permission-denied`, StateError */
export function deleteToken(credentials: Credentials, asked: Asked, accessorId: string): Promise<void> {
  return credentials.state.write((tx) => {
    const { caller, partition } = locate(credentials, tx, asked);
    authorize(caller, { resource: 'acl', access: 'write', partition });
    existingPartition(tx, partition);
    const before = findToken(tx, accessorId, partition);
    if (before === undefined) return;
    authorizeGrants(caller, before.row.grants);
    tx.delete(aclTokens, before.row.accessorId);
    recordTokenChange(tx, originOf(asked, caller), 'delete', before, undefined);
  });
}
