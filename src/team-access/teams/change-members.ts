/** Adds members of the organization to a team, and takes them out: by username or by their memberships. */
import { users } from '../../credentials/user.ts';
import { recordTeamAccess } from '../audit.ts';
import { changesMembers } from '../authorization.ts';
import { teamById } from '../find.ts';
import { JsonApiError, notFound } from '../jsonapi/errors.ts';
import { type Membership, membershipPair, memberships } from '../organization-memberships/membership.ts';
import type { Writing } from '../serve.ts';
import { memberKey, teamMembers } from './team-member.ts';

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
  for (const { id: membershipId, userId } of namedMembers(writing, change)) {
    const member = { teamId: change.teamId, userId, membershipId };
    if (tx.get(teamMembers, memberKey(change.teamId, userId)) !== undefined) continue;
    tx.put(teamMembers, member);
    recordMember(writing, { action: 'create', before: null, after: member });
  }
}

/** Who is not in it stays out. @throws JsonApiError `not-found`; `forbidden` when no owner would be left */
export function removeMembers(writing: Writing, change: MemberChange): void {
  const { tx } = writing;
  for (const { userId } of namedMembers(writing, change)) {
    const key = memberKey(change.teamId, userId);
    const member = tx.get(teamMembers, key)?.row;
    if (member === undefined) continue;
    checkOwnerLeft(writing, change.teamId);
    tx.delete(teamMembers, key);
    recordMember(writing, { action: 'destroy', before: member, after: null });
  }
}

/** Refuses to take the last member out of the team that owns an organization. @throws JsonApiError `forbidden` */
export function checkOwnerLeft({ tx, caller }: Pick<Writing, 'tx' | 'caller'>, teamId: string): void {
  const { standing } = teamById(tx, caller, teamId);
  if (teamId !== standing.organization.ownersTeamId) return;
  if (tx.list(teamMembers, 'team', teamId, { limit: 2 }).length > 1) return;
  throw lastOwner();
}

/** The refusal to leave an organization without an owner. */
export const lastOwner = (): JsonApiError =>
  new JsonApiError([{ code: 'forbidden', detail: 'the last owner of an organization cannot go' }]);

function namedMembers({ tx, caller }: Writing, { teamId, by, ids }: MemberChange): readonly Membership[] {
  const { standing, team } = teamById(tx, caller, teamId);
  if (!changesMembers(standing, team)) throw notFound();
  return ids.map((id) => {
    const membership =
      by === 'organization-memberships'
        ? tx.get(memberships, id)?.row
        : membershipOfUser(tx, standing.organization.id, id);
    if (membership?.organizationId !== standing.organization.id) throw notFound();
    return membership;
  });
}

function membershipOfUser(tx: Writing['tx'], organizationId: string, username: string): Membership | undefined {
  const user = tx.find(users, 'username', username.toLowerCase());
  return user && tx.find(memberships, 'pair', membershipPair(organizationId, user.row.id))?.row;
}

interface RecordedMember {
  readonly action: 'create' | 'destroy';
  readonly before: { readonly teamId: string } | null;
  readonly after: { readonly teamId: string } | null;
}

function recordMember({ tx, caller, origin }: Writing, { action, before, after }: RecordedMember): void {
  const teamId = (after ?? before)?.teamId ?? '';
  const { organizationId } = teamById(tx, caller, teamId).team;
  recordTeamAccess(tx, origin, { organizationId, action, type: 'team-members', subject: teamId, before, after });
}
