/**
 * Owners of organizations. An organization loses its last owner only by their own wish, or with their account by the
 * site administrators.
 */
import type { Origin } from '../../audit/record.ts';
import { newId } from '../../credentials/ids-and-secrets.ts';
import { type User, users } from '../../credentials/user.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { DeepReadonly } from '../../state/table.ts';
import type { Transaction } from '../../state/write/transaction.ts';
import { recordTeamAccessChange } from '../audit.ts';
import { JsonApiError } from '../jsonapi/errors.ts';
import { type Organization, organizations } from '../tables/organization.ts';
import { type Membership, membershipPair, memberships } from '../tables/organization-membership.ts';
import { teamMemberKey, teamMembers } from '../tables/team.ts';
import { pendingMembership } from './invitations.ts';

type AnyOrganization = DeepReadonly<Organization>;

/** Owners per read. Usually one of the first can use their account. */
const PAGE_ROWS = 16;

/**
 * Rejects the removal of an owner when no owner who can use the organization would remain. See `hasOtherOwner`.
 * @throws JsonApiError `forbidden`
 */
export function checkOwnerRemains(reader: Reader, organization: AnyOrganization, leaving: string): void {
  if (hasOtherOwner(reader, organization, leaving)) return;
  const detail =
    `the last owner of the organization '${organization.name}' cannot be removed: make another member an owner first, ` +
    'or end the membership with transfer-to or leave-to-site-administrators';
  throw new JsonApiError([{ code: 'forbidden', detail }]);
}

/**
 * Whether another owner can use the organization. An invited user who has never had a token cannot, nor can a suspended
 * user. If `leaving` cannot either, any other owner suffices. A pending user does not count.
 */
export function hasOtherOwner(reader: Reader, { ownersTeamId }: AnyOrganization, leaving: string): boolean {
  const leavingIsUsable = isUsable(reader.get(users, leaving)?.row);
  for (let after = ''; ; ) {
    const page = reader.list(teamMembers, 'team', ownersTeamId, { after, limit: PAGE_ROWS });
    const remains = page.some(({ row: { userId } }) => {
      const user = userId === leaving ? undefined : reader.get(users, userId)?.row;
      return leavingIsUsable ? isUsable(user) : user !== undefined && user.invitation === undefined;
    });
    if (remains) return true;
    const last = page.at(-1);
    if (last === undefined || page.length < PAGE_ROWS) return false;
    after = teamMemberKey(ownersTeamId, last.row.userId);
  }
}

/** Whether a user can act: not an unclaimed and not a suspended one. */
export const isUsable = (user: DeepReadonly<User> | undefined): boolean =>
  user !== undefined && user.unclaimed !== true && user.suspendedTime === undefined;

/** Whether a user is an owner. A pending user in `owners` is not, until the person accepts [AUTHZ-97]. */
export const isOwner = (reader: Reader, { ownersTeamId }: AnyOrganization, userId: string): boolean =>
  reader.get(teamMembers, teamMemberKey(ownersTeamId, userId)) !== undefined &&
  reader.get(users, userId)?.row.invitation === undefined;

/**
 * Makes a user an owner, and a member if they are not yet. Ends their pending invitation, if there is one. Does nothing
 * for an owner.
 */
export function makeOwner(
  { tx, origin }: { readonly tx: Transaction; readonly origin: Origin },
  { id: organizationId, ownersTeamId: teamId }: AnyOrganization,
  userId: string,
): void {
  let membership: DeepReadonly<Membership> | undefined;
  membership = tx.find(memberships, 'pair', membershipPair(organizationId, userId))?.row;
  if (membership === undefined) {
    withdrawInvitation(tx, origin, organizationId, userId);
    const id = tx.memoizeAcrossRetries(() => newId('ou'));
    const createTime = new Date(tx.now).toISOString();
    membership = { id, organizationId, userId, createTime, place: tx.position };
    tx.put(memberships, membership);
    const change = { action: 'create', type: 'organization-memberships', subject: id, before: null };
    recordTeamAccessChange(tx, origin, { organizationId, ...change, after: { ...membership, teams: [teamId] } });
  }
  if (tx.get(teamMembers, teamMemberKey(teamId, userId)) !== undefined) return;
  const after = { teamId, userId, membershipId: membership.id };
  tx.put(teamMembers, after);
  const change = { action: 'create', type: 'team-members', subject: teamId, before: null, after };
  recordTeamAccessChange(tx, origin, { organizationId, ...change });
}

/** Ends the pending invitation of a user who joins without it. A background job deletes its pending user [AUTHZ-65]. */
function withdrawInvitation(tx: Transaction, origin: Origin, organizationId: string, userId: string): void {
  const email = tx.get(users, userId)?.row.email ?? '';
  const pending = email === '' ? undefined : pendingMembership(tx, organizationId, email);
  if (pending === undefined) return;
  tx.delete(memberships, pending.id);
  const change = { action: 'destroy', type: 'organization-memberships', subject: pending.id };
  recordTeamAccessChange(tx, origin, { organizationId, ...change, before: pending, after: null });
}

export const organizationsOfUser = (reader: Reader, userId: string): readonly AnyOrganization[] =>
  reader
    .list(memberships, 'user', userId)
    .map(({ row }) => reader.get(organizations, row.organizationId)?.row)
    .filter((organization) => organization !== undefined);
