/** The delegation check and the audit entry that creating, changing and deleting a token share. */
import { type Origin, recordChange } from '../audit/record.ts';
import type { Stored } from '../state/table.ts';
import type { Transaction } from '../state/write/transaction.ts';
import { type AclToken, covers, type Grant } from './acl-token.ts';
import { type AclTokenJson, aclTokenToJson } from './acl-token-to-json.ts';
import { authorize, type Caller, permissionDenied } from './caller.ts';

/**
 * Checks that the caller holds everything that the grants permit, and `acl:write` in their partitions [ACL-29].
 * @throws ServiceError `permission-denied`
 */
export function authorizeGrants(caller: Caller, grants: readonly Grant[]): void {
  for (const grant of grants) {
    authorize(caller, { resource: 'acl', access: 'write', partition: grant.Partition });
    if (!covers(caller.grants, grant))
      throw permissionDenied(caller, { resource: grant.Resource, access: grant.Access });
  }
}

/** Adds the audit entry of a change to a token [ACL-65]. */
export function recordTokenChange(
  tx: Transaction,
  origin: Origin,
  action: 'create' | 'update' | 'delete' | 'expire',
  before: Stored<AclToken> | undefined,
  after: Stored<AclToken> | undefined,
): void {
  const token = after ?? before;
  if (token === undefined) return;
  const { accessorId, partition } = token.row;
  const toJson = (stored: Stored<AclToken> | undefined): AclTokenJson | null =>
    stored === undefined ? null : aclTokenToJson(stored);
  recordChange(tx, origin, {
    action,
    type: 'acl-token',
    subject: accessorId,
    partition,
    before: toJson(before),
    after: toJson(after),
  });
}
