/** Adds members of an organization to its teams and removes them [AUTHZ-47 to AUTHZ-50]. */
import { users } from '../../credentials/user.ts';
import type { Steps } from '../../state/clock/slices.ts';
import type { DeepReadonly } from '../../state/table.ts';
import { recordTeamAccessChange } from '../audit.ts';
import type { CallerRole } from '../authorization/caller.ts';
import { checkPermissionsHeld, checkTeamWithinRole } from '../authorization/compare-team.ts';
import { type FoundTeam, teamById } from '../authorization/find-visible.ts';
import { checkInvitationTeams } from '../authorization/invitations.ts';
import { checkOwnerRemains, isOwner } from '../authorization/owners.ts';
import { canUpdateMembers } from '../authorization/permissions.ts';
import type { WriteContext } from '../http/request-pipeline.ts';
import { notFound } from '../jsonapi/errors.ts';
import { type Membership, membershipPair, memberships } from '../tables/organization-membership.ts';
import { type TeamMember, teamMemberKey, teamMembers } from '../tables/team.ts';

/** The type of the identifiers in a request. Those of `users` are usernames [AUTHZ-48]. */
export type MemberIdType = 'users' | 'organization-memberships';

interface MemberChange {
  readonly teamId: string;
  readonly idType: MemberIdType;
  readonly ids: readonly string[];
}

/**
 * Adds members to a team. Current members stay unchanged [AUTHZ-49].
 * @throws JsonApiError `not-found`, also for users without a membership of the organization; `forbidden` for a team that
 * grants more than the caller has [AUTHZ-44]
 */
export function* addMembers(context: WriteContext, change: MemberChange): Steps<void> {
  const { tx } = context;
  const { teamId } = change;
  const found = findTeam(context, teamId);
  const { role } = found;
  checkTeamWithinRole(tx, role, found.team);
  for (const { id: membershipId, userId, invited } of yield* findMembers(context, role, change)) {
    yield;
    if (tx.get(teamMembers, teamMemberKey(teamId, userId)) !== undefined) continue;
    if (invited === true && tx.get(users, userId)?.row.invitation !== undefined) {
      checkInvitationTeams(tx.list(teamMembers, 'membership', membershipId).length + 1, '/data');
    }
    const after = { teamId, userId, membershipId };
    tx.put(teamMembers, after);
    recordMember(context, role, { action: 'create', teamId, before: null, after });
  }
}

/**
 * Removes members from a team. Users who are not in the team are ignored [AUTHZ-49].
 * @throws JsonApiError `not-found`; `forbidden` if `owners` would have no claimed member left [AUTHZ-64],
 * and for a team with an organization permission that the caller lacks [AUTHZ-47]
 */
export function* removeMembers(context: WriteContext, change: MemberChange): Steps<void> {
  const { tx } = context;
  const { teamId } = change;
  const found = findTeam(context, teamId);
  const { role } = found;
  // Rows do not count here, because a removal grants nothing.
  checkPermissionsHeld(role, found.team.organizationAccess, `the team '${found.team.name}' has`);
  for (const { userId } of yield* findMembers(context, role, change)) {
    yield;
    const key = teamMemberKey(teamId, userId);
    const before = tx.get(teamMembers, key)?.row;
    if (before === undefined) continue;
    const { organization } = role;
    if (teamId === organization.ownersTeamId && isOwner(tx, organization, userId))
      checkOwnerRemains(tx, organization, userId);
    tx.delete(teamMembers, key);
    recordMember(context, role, { action: 'destroy', teamId, before, after: null });
  }
}

function findTeam({ tx, caller }: WriteContext, id: string): FoundTeam {
  const found = teamById(tx, caller, id);
  if (!canUpdateMembers(found.role, found.team)) throw notFound();
  return found;
}

function* findMembers(
  { tx }: WriteContext,
  role: CallerRole,
  { idType, ids }: MemberChange,
): Steps<readonly DeepReadonly<Membership>[]> {
  const organizationId = role.organization.id;
  const members: DeepReadonly<Membership>[] = [];
  for (const id of ids) {
    yield;
    const isMembershipId = idType === 'organization-memberships';
    const membership = isMembershipId ? tx.get(memberships, id)?.row : membershipOfUser(tx, organizationId, id);
    if (membership?.organizationId !== organizationId) throw notFound();
    members.push(membership);
  }
  return members;
}

function membershipOfUser(tx: WriteContext['tx'], organizationId: string, username: string): Membership | undefined {
  // Looks up a membership even without a user, so that missing users and non-members cost the same [AUTHZ-13].
  const userId = tx.find(users, 'username', username.toLowerCase())?.row.id ?? '';
  return tx.find(memberships, 'pair', membershipPair(organizationId, userId))?.row;
}

interface MemberRecord {
  readonly action: 'create' | 'destroy';
  readonly teamId: string;
  readonly before: TeamMember | null;
  readonly after: TeamMember | null;
}

function recordMember(
  { tx, origin }: WriteContext,
  { organization }: CallerRole,
  { teamId, ...change }: MemberRecord,
): void {
  const organizationId = organization.id;
  recordTeamAccessChange(tx, origin, { organizationId, type: 'team-members', subject: teamId, ...change });
}
