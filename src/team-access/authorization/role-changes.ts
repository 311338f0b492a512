/**
 * Keeps the cached roles of a caller true during a write. A large write checks the caller's role thousands of times, and
 * few of its changes affect the role.
 */
import { users } from '../../credentials/user.ts';
import type { AnyTable } from '../../state/table.ts';
import type { Transaction } from '../../state/write/transaction.ts';
import { organizations } from '../tables/organization.ts';
import { memberships } from '../tables/organization-membership.ts';
import { teamMembers, teams } from '../tables/team.ts';
import { type Caller, forgetRoles, hasCachedTeam } from './caller.ts';

/** Returns `tx`, which drops the cached roles of `caller` after each change of a row that they depend on. */
export function forgettingChangedRoles(tx: Transaction, caller: Caller): Transaction {
  const afterChange = (table: AnyTable, row: unknown): void => {
    if (affectsRoles(caller, table, row)) forgetRoles(caller);
  };
  // A prototype, because `now` and `position` of a transaction are computed.
  return Object.assign(Object.create(tx) as Transaction, {
    put: ((table, row) => {
      const before = tx.get(table, table.key(row))?.row;
      const stored = tx.put(table, row);
      if (before !== undefined) afterChange(table, before);
      afterChange(table, row);
      return stored;
    }) satisfies Transaction['put'],
    delete: ((table, key) => {
      const before = tx.get(table, key)?.row;
      const existed = tx.delete(table, key);
      if (before !== undefined) afterChange(table, before);
      return existed;
    }) satisfies Transaction['delete'],
  });
}

/** Whether a changed row can be part of a role of the caller. Every other table leaves roles unchanged. */
function affectsRoles(caller: Caller, table: AnyTable, row: unknown): boolean {
  const { id, userId } = row as { readonly id?: string; readonly userId?: string };
  const callerUserId = caller.kind === 'user' ? caller.userId : undefined;
  if (table === organizations) return true;
  if (table === teams) return id !== undefined && hasCachedTeam(caller, id);
  if (table === memberships || table === teamMembers) return userId === callerUserId;
  return table === users && id === callerUserId;
}
