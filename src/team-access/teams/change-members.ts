/** Adds members of the organization to a team, and takes them out: by username or by their memberships. */
import { users } from '../../credentials/user.ts';
import { recordTeamAccess } from '../audit/record-change.ts';
import type { Standing } from '../authorization/caller-role.ts';
import { teamById } from '../authorization/find-visible.ts';
import { checkOwnerLeft } from '../authorization/owners.ts';
import { changesMembers } from '../authorization/permissions.ts';
import type { Writing } from '../http/request-pipeline.ts';
import { notFound } from '../jsonapi/errors.ts';
import { type Membership, membershipPair, memberships } from '../tables/organization-membership.ts';
import { memberKey, type TeamMember, teamMembers } from '../tables/team-member.ts';

/** What the ids of a request name. */
export type NamedBy = 'users' | 'organization-memberships';

interface MemberChange {
  readonly teamId: string;
  readonly by: NamedBy;
  readonly ids: readonly string[];
}

/** Who is in it already stays. @throws JsonApiError `not-found`, also for who is not in the organization */
export function addMembers(writing: Writing, change: MemberChange): void {
  const { tx } = writing;
  const { teamId } = change;
  const { standing, members } = namedMembers(writing, change);
  for (const { id: membershipId, userId } of members) {
    if (tx.get(teamMembers, memberKey(teamId, userId)) !== undefined) continue;
    const after = { teamId, userId, membershipId };
    tx.put(teamMembers, after);
    recordMember(writing, standing, { action: 'create', teamId, before: null, after });
  }
}

/** Who is not in it stays out. @throws JsonApiError `not-found`; `forbidden` when no owner would be left who could act */
export function removeMembers(writing: Writing, change: MemberChange): void {
  const { tx } = writing;
  const { teamId } = change;
  const { standing, members } = namedMembers(writing, change);
  for (const { userId } of members) {
    const key = memberKey(teamId, userId);
    const before = tx.get(teamMembers, key)?.row;
    if (before === undefined) continue;
    if (teamId === standing.organization.ownersTeamId) checkOwnerLeft(tx, standing.organization, userId);
    tx.delete(teamMembers, key);
    recordMember(writing, standing, { action: 'destroy', teamId, before, after: null });
  }
}

function namedMembers({ tx, caller }: Writing, { teamId, by, ids }: MemberChange) {
  const { standing, team } = teamById(tx, caller, teamId);
  if (!changesMembers(standing, team)) throw notFound();
  const organizationId = standing.organization.id;
  const members = ids.map((id) => {
    const byId = by === 'organization-memberships';
    const membership = byId ? tx.get(memberships, id)?.row : membershipOfUser(tx, organizationId, id);
    if (membership?.organizationId !== organizationId) throw notFound();
    return membership;
  });
  return { standing, members };
}

function membershipOfUser(tx: Writing['tx'], organizationId: string, username: string): Membership | undefined {
  // Also without such a user, so that nobody can tell the stranger from who is nowhere.
  const userId = tx.find(users, 'username', username.toLowerCase())?.row.id ?? '';
  return tx.find(memberships, 'pair', membershipPair(organizationId, userId))?.row;
}

interface RecordedMember {
  readonly action: 'create' | 'destroy';
  readonly teamId: string;
  readonly before: TeamMember | null;
  readonly after: TeamMember | null;
}

function recordMember(
  { tx, origin }: Writing,
  { organization }: Standing,
  { teamId, ...change }: RecordedMember,
): void {
  const organizationId = organization.id;
  recordTeamAccess(tx, origin, { organizationId, type: 'team-members', subject: teamId, ...change });
}
