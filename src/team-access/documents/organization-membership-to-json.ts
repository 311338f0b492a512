/** The JSON form of a membership, for a member of the same organization. */
import { Type } from 'typebox';
import { addressOf, type User, users } from '../../credentials/user.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { DeepReadonly } from '../../state/table.ts';
import type { CallerRole } from '../authorization/caller.ts';
import { canSeeTeam, hasTeamManagement } from '../authorization/permissions.ts';
import type { Resource } from '../jsonapi/documents.ts';
import { fullLinkage, type Linkage } from '../jsonapi/include.ts';
import { resourceSchema, toManyOrCount, toOne } from '../jsonapi/schemas.ts';
import type { Membership } from '../tables/organization-membership.ts';
import { type Team, teamMembers, teams } from '../tables/team.ts';
import { organizationRelationship } from './organization-to-json.ts';

export const MEMBERSHIP_STATUSES = ['invited', 'active', 'inactive'] as const;
export type MembershipStatus = (typeof MEMBERSHIP_STATUSES)[number];

export const membershipSchema = resourceSchema('organization-memberships', 'OrganizationMembership', {
  attributes: {
    email: Type.Union([Type.String(), Type.Null()]),
    status: Type.Enum([...MEMBERSHIP_STATUSES]),
    'is-owner': Type.Optional(
      Type.Boolean({
        description:
          'Whether the caller is an owner, or becomes one by accepting. Only in the list of their own memberships.',
      }),
    ),
  },
  relationships: { organization: toOne('organizations'), user: toOne('users'), teams: toManyOrCount('teams') },
});

/** Returns `invited` until the user accepts, or uses a token for the first time. */
export const membershipStatus = (user: DeepReadonly<User>): MembershipStatus =>
  user.activeTime === undefined ? 'invited' : 'active';

/** Returns the user of a membership, which exists because the user owns the membership. */
export function userOfMembership(reader: Reader, { userId }: DeepReadonly<Membership>): DeepReadonly<User> {
  const user = reader.get(users, userId)?.row;
  if (user === undefined) throw new TypeError(`a membership refers to the missing user '${userId}'`);
  return user;
}

export function visibleTeamsOfMember(
  reader: Reader,
  role: CallerRole,
  { id }: DeepReadonly<Membership>,
): DeepReadonly<Team>[] {
  if (!hasTeamManagement(role) || role.isInvited === true) return [];
  return reader
    .list(teamMembers, 'membership', id)
    .map(({ row }) => reader.get(teams, row.teamId)?.row)
    .filter((team) => team !== undefined)
    .filter((team) => canSeeTeam(role, team));
}

/** Lists only those teams of the member that the caller can see. */
export function membershipToJson(
  reader: Reader,
  role: CallerRole,
  membership: DeepReadonly<Membership>,
  linkage: Linkage = fullLinkage,
): Resource {
  const user = userOfMembership(reader, membership);
  const email = addressOf(user);
  const theirs = visibleTeamsOfMember(reader, role, membership);
  return {
    id: membership.id,
    type: 'organization-memberships',
    attributes: { email: email === '' ? null : email, status: membershipStatus(user) },
    relationships: {
      organization: organizationRelationship(role.organization.name),
      user: { data: { id: user.id, type: 'users' } },
      teams: linkage(
        'teams',
        theirs.map(({ id }) => id),
      ),
    },
    links: { self: `/api/v2/organization-memberships/${membership.id}` },
  };
}
