/** Adds members of an organization to its teams and removes them [AUTHZ-47 to AUTHZ-50]. */
import { users } from '../../credentials/user.ts';
import type { Steps } from '../../state/clock/slices.ts';
import type { DeepReadonly } from '../../state/table.ts';
import { recordTeamAccessChange } from '../audit.ts';
import type { CallerRole } from '../authorization/caller.ts';
import { teamById } from '../authorization/find-visible.ts';
import { checkOwnerRemains } from '../authorization/owners.ts';
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
 * @throws JsonApiError `not-found`, also for users without a membership of the organization
 */
export function* addMembers(context: WriteContext, change: MemberChange): Steps<void> {
  const { tx } = context;
  const { teamId } = change;
  const { role, members } = yield* findMembers(context, change);
  for (const { id: membershipId, userId } of members) {
    yield;
    if (tx.get(teamMembers, teamMemberKey(teamId, userId)) !== undefined) continue;
    const after = { teamId, userId, membershipId };
    tx.put(teamMembers, after);
    recordMember(context, role, { action: 'create', teamId, before: null, after });
  }
}

/**
 * Removes members from a team. Users who are not in the team are ignored [AUTHZ-49].
 * @throws JsonApiError `not-found`; `forbidden` if `owners` would have no claimed member left [AUTHZ-64]
 */
export function* removeMembers(context: WriteContext, change: MemberChange): Steps<void> {
  const { tx } = context;
  const { teamId } = change;
  const { role, members } = yield* findMembers(context, change);
  for (const { userId } of members) {
    yield;
    const key = teamMemberKey(teamId, userId);
    const before = tx.get(teamMembers, key)?.row;
    if (before === undefined) continue;
    if (teamId === role.organization.ownersTeamId) checkOwnerRemains(tx, role.organization, userId);
    tx.delete(teamMembers, key);
    recordMember(context, role, { action: 'destroy', teamId, before, after: null });
  }
}

function* findMembers(
  { tx, caller }: WriteContext,
  { teamId, idType, ids }: MemberChange,
): Steps<{ readonly role: CallerRole; readonly members: readonly DeepReadonly<Membership>[] }> {
  const { role, team } = teamById(tx, caller, teamId);
  if (!canUpdateMembers(role, team)) throw notFound();
  const organizationId = role.organization.id;
  const members: DeepReadonly<Membership>[] = [];
  for (const id of ids) {
    yield;
    const isMembershipId = idType === 'organization-memberships';
    const membership = isMembershipId ? tx.get(memberships, id)?.row : membershipOfUser(tx, organizationId, id);
    if (membership?.organizationId !== organizationId) throw notFound();
    members.push(membership);
  }
  return { role, members };
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
