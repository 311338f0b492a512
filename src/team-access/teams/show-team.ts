/** How a team is shown to someone for whom it exists. */
import { Type } from 'typebox';
import { users } from '../../credentials/user.ts';
import type { Reader } from '../../state/reader.ts';
import type { DeepReadonly } from '../../state/table.ts';
import { changesMembers, changesTeam, givesOrganizationAccess, managesTeamTokens } from '../authorization.ts';
import type { FoundTeam } from '../find.ts';
import type { Document, Resource } from '../jsonapi/documents.ts';
import { eachOnce } from '../jsonapi/include.ts';
import { resourceSchema, toMany, toOne } from '../jsonapi/schemas.ts';
import { memberships } from '../organization-memberships/membership.ts';
import { showMembership } from '../organization-memberships/show-membership.ts';
import { toOrganization } from '../organizations/show-organization.ts';
import { showUser } from '../users/show-user.ts';
import { ORGANIZATION_PERMISSIONS } from './organization-access.ts';
import { type TeamMember, teamMembers } from './team-member.ts';

const nullableText = Type.Union([Type.String(), Type.Null()]);

export const organizationAccessSchema = Type.Object(
  Object.fromEntries(ORGANIZATION_PERMISSIONS.map((name) => [name, Type.Optional(Type.Boolean())])),
);

export const teamSchema = resourceSchema('teams', 'Team', {
  attributes: {
    name: Type.String(),
    description: nullableText,
    visibility: Type.Enum(['secret', 'organization']),
    'sso-team-id': nullableText,
    'allow-member-token-management': Type.Boolean(),
    'users-count': Type.Integer(),
    'is-unified': Type.Boolean(),
    'organization-access': organizationAccessSchema,
    permissions: Type.Record(Type.String(), Type.Boolean()),
  },
  relationships: {
    organization: toOne('organizations'),
    users: toMany('users'),
    'organization-memberships': toMany('organization-memberships'),
  },
});

/** What a team can bring along. */
export const TEAM_INCLUDES = ['users', 'organization-memberships'] as const;
export type TeamInclude = (typeof TEAM_INCLUDES)[number];

export function showTeam(reader: Reader, found: FoundTeam): Resource {
  const { attributes, relationships, ...team } = showTeamAlone(found);
  const members = membersOf(reader, team.id);
  return {
    ...team,
    attributes: { ...attributes, 'users-count': members.length },
    relationships: {
      ...relationships,
      users: { data: members.map(({ userId }) => ({ id: userId, type: 'users' })) },
      'organization-memberships': {
        data: members.map(({ membershipId }) => ({ id: membershipId, type: 'organization-memberships' })),
      },
    },
  };
}

/** A team without its members. */
export function showTeamAlone(found: FoundTeam): Resource {
  const { team, standing } = found;
  return {
    id: team.id,
    type: 'teams',
    attributes: {
      name: team.name,
      description: team.description,
      visibility: team.visibility,
      'sso-team-id': team.ssoTeamId,
      'allow-member-token-management': team.allowMemberTokenManagement,
      'is-unified': false,
      'organization-access': Object.fromEntries(
        ORGANIZATION_PERMISSIONS.map((name) => [name, team.organizationAccess.includes(name)]),
      ),
      permissions: permissions(found),
    },
    relationships: { organization: toOrganization(standing.organization.name) },
    links: { self: `/api/v2/teams/${team.id}` },
  };
}

/** The document of a team alone. */
export const teamDocument = (reader: Reader, found: FoundTeam): Document => ({ data: showTeam(reader, found) });

/** What teams bring along. */
export function includedWithTeams(
  reader: Reader,
  found: readonly FoundTeam[],
  include: ReadonlySet<TeamInclude>,
): { readonly included?: readonly Resource[] } {
  if (include.size === 0) return {};
  const resources: Resource[] = [];
  for (const { team, standing } of found) {
    for (const { userId, membershipId } of membersOf(reader, team.id)) {
      const user = include.has('users') ? reader.get(users, userId)?.row : undefined;
      if (user !== undefined) resources.push(showUser(user));
      const membership = include.has('organization-memberships')
        ? reader.get(memberships, membershipId)?.row
        : undefined;
      if (membership !== undefined) resources.push(showMembership(reader, standing, membership));
    }
  }
  return { included: eachOnce(resources) };
}

const membersOf = (reader: Reader, teamId: string): DeepReadonly<TeamMember>[] =>
  reader.list(teamMembers, 'team', teamId).map(({ row }) => row);

function permissions({ standing, team }: FoundTeam): Readonly<Record<string, boolean>> {
  const changes = changesTeam(standing, team);
  const tokens = managesTeamTokens(standing, team);
  const isOwners = team.id === standing.organization.ownersTeamId;
  return {
    'can-update-membership': changesMembers(standing, team),
    'can-destroy': changes && !isOwners,
    'can-update-organization-access': givesOrganizationAccess(standing, team, team.organizationAccess),
    'can-update-api-token': tokens,
    'can-update-visibility': changes,
    'can-update-name': changes,
    'can-update-sso-team-id': changes,
    'can-update-member-token-management': changes,
    'can-view-api-token': tokens,
  };
}
