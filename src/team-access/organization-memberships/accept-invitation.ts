/** Accepts an invitation: the membership and its teams pass from the pending user to the user [AUTHZ-96]. */
import type { DeepReadonly } from '../../state/table.ts';
import { recordTeamAccessChange } from '../audit.ts';
import type { WriteContext } from '../http/request-pipeline.ts';
import { notFound } from '../jsonapi/errors.ts';
import { type Membership, membershipPair, memberships } from '../tables/organization-membership.ts';
import { teamMemberKey, teamMembers } from '../tables/team.ts';
import { removeUnclaimedUser } from '../users/remove-unclaimed-users.ts';
import { type FoundMembership, membershipById, ownMembership } from './change-membership.ts';

/**
 * Makes the caller the member, in the same teams and under the same ID. Does nothing if they already are. Adds the
 * teams to another membership that the caller has in the organization, which keeps its ID.
 * @throws JsonApiError `not-found` if the membership is neither an invitation nor a membership of the caller
 */
export function acceptInvitation({ tx, caller, origin }: WriteContext, id: string): FoundMembership {
  const { role, membership } = membershipById(tx, caller, id);
  const own = ownMembership(tx, caller, membership);
  if (own === undefined || caller.kind !== 'user') throw notFound();
  if (role.isInvited !== true) return own;
  const { organizationId, userId: pendingUserId } = membership;
  const { userId } = caller;
  const { invited: _, ...rest } = membership;
  // A server of an older version adds the account although the address has an invitation.
  const existing = tx.find(memberships, 'pair', membershipPair(organizationId, userId))?.row;
  const joined: DeepReadonly<Membership> = existing ?? { ...rest, userId };
  const teamIds: string[] = [];
  for (const { row } of tx.list(teamMembers, 'membership', id)) {
    teamIds.push(row.teamId);
    tx.delete(teamMembers, teamMemberKey(row.teamId, pendingUserId));
    if (tx.get(teamMembers, teamMemberKey(row.teamId, userId)) !== undefined) continue;
    tx.put(teamMembers, { ...row, userId, membershipId: joined.id });
  }
  if (existing === undefined) tx.put(memberships, joined);
  else tx.delete(memberships, id);
  recordTeamAccessChange(tx, origin, {
    organizationId,
    action: 'accept',
    type: 'organization-memberships',
    subject: id,
    before: { ...membership, teams: teamIds },
    after: { ...joined, teams: teamIds },
  });
  removeUnclaimedUser({ tx, origin, organizationId }, pendingUserId);
  return membershipById(tx, caller, joined.id);
}
