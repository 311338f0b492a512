/** How a membership of an organization is shown to another member. */
import { Type } from 'typebox';
import { type User, users } from '../../credentials/user.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { DeepReadonly } from '../../state/table.ts';
import type { Standing } from '../authorization/caller-role.ts';
import { seesTeam, servesTeams } from '../authorization/permissions.ts';
import type { Resource } from '../jsonapi/documents.ts';
import { type Linkage, namesAll, toManyOrCount } from '../jsonapi/linkage.ts';
import { resourceSchema, toOne } from '../jsonapi/schemas.ts';
import type { Membership } from '../tables/organization-membership.ts';
import { type Team, teams } from '../tables/team.ts';
import { teamMembers } from '../tables/team-member.ts';
import { toOrganization } from './organization-to-json.ts';

export const STATUSES = ['invited', 'active', 'inactive'] as const;
export type MembershipStatus = (typeof STATUSES)[number];

export const membershipSchema = resourceSchema('organization-memberships', 'OrganizationMembership', {
  attributes: { email: Type.Union([Type.String(), Type.Null()]), status: Type.Enum([...STATUSES]) },
  relationships: { organization: toOne('organizations'), user: toOne('users'), teams: toManyOrCount('teams') },
});

/** A user is invited until a token of theirs is used. */
export const statusOf = (user: DeepReadonly<User>): MembershipStatus =>
  user.activeTime === undefined ? 'invited' : 'active';

/** The user of a membership, which goes with the user. */
export function userOf(reader: Reader, { userId }: DeepReadonly<Membership>): DeepReadonly<User> {
  const user = reader.get(users, userId)?.row;
  if (user === undefined) throw new TypeError(`membership of '${userId}', who is not there`);
  return user;
}

/** The member's teams, as far as they exist for who asks. */
export function teamsOf(reader: Reader, standing: Standing, { id }: DeepReadonly<Membership>): DeepReadonly<Team>[] {
  if (!servesTeams(standing)) return [];
  return reader
    .list(teamMembers, 'membership', id)
    .map(({ row }) => reader.get(teams, row.teamId)?.row)
    .filter((team) => team !== undefined)
    .filter((team) => seesTeam(standing, team));
}

/** A membership with the member's teams, as far as they exist for who asks and `linkage` names them. */
export function showMembership(
  reader: Reader,
  standing: Standing,
  membership: DeepReadonly<Membership>,
  linkage: Linkage = namesAll,
): Resource {
  const user = userOf(reader, membership);
  const theirs = teamsOf(reader, standing, membership);
  return {
    id: membership.id,
    type: 'organization-memberships',
    attributes: { email: user.email === '' ? null : user.email, status: statusOf(user) },
    relationships: {
      organization: toOrganization(standing.organization.name),
      user: { data: { id: user.id, type: 'users' } },
      teams: linkage(
        'teams',
        theirs.map(({ id }) => id),
      ),
    },
    links: { self: `/api/v2/organization-memberships/${membership.id}` },
  };
}
