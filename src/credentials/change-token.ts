/** What creating, changing and deleting a token have in common: a maker gives, changes and takes only what it holds. */

import { type Origin, recordChange } from '../audit/record.ts';
import type { Stored } from '../state/table.ts';
import type { Transaction } from '../state/write/transaction.ts';
import { type AclToken, type ShownToken, showToken } from './acl-token.ts';
import { authorize, type Caller, lacks } from './caller.ts';
import { covers, type Grant } from './grant.ts';

/** Refuses unless the maker holds every grant, and `acl:write` wherever they reach. @throws ServiceError `permission-denied` */
export function authorizeGrants(caller: Caller, grants: readonly Grant[]): void {
  for (const grant of grants) {
    authorize(caller, { resource: 'acl', access: 'write', partition: grant.Partition });
    if (!covers(caller.grants, grant)) throw lacks(caller, { resource: grant.Resource, access: grant.Access });
  }
}

/** Writes to the audit log what happened to a token. */
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
  const shown = (stored: Stored<AclToken> | undefined): ShownToken | null =>
    stored === undefined ? null : showToken(stored);
  recordChange(tx, origin, {
    action,
    type: 'acl-token',
    subject: accessorId,
    partition,
    before: shown(before),
    after: shown(after),
  });
}
