/** How a team is shown to someone for whom it exists. */
import { Type } from 'typebox';
import { users } from '../../credentials/user.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { FoundTeam } from '../authorization/find-visible.ts';
import {
  changesMembers,
  changesTeam,
  givesOrganizationAccess,
  managesTeamTokens,
} from '../authorization/permissions.ts';
import type { Document, Resource } from '../jsonapi/documents.ts';
import { createIncluded } from '../jsonapi/include.ts';
import { type Linkage, namesAll, namesSome, toManyOrCount } from '../jsonapi/linkage.ts';
import { resourceSchema, toOne } from '../jsonapi/schemas.ts';
import { ORGANIZATION_PERMISSIONS } from '../tables/organization-access.ts';
import { memberships } from '../tables/organization-membership.ts';
import { showMembership } from './organization-membership-to-json.ts';
import { toOrganization } from './organization-to-json.ts';
import { membersOf } from './team-members.ts';
import { showUser } from './user-to-json.ts';

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
    users: toManyOrCount('users'),
    'organization-memberships': toManyOrCount('organization-memberships'),
  },
});

/** What a team can bring along. */
export const TEAM_INCLUDES = ['users', 'organization-memberships'] as const;
export type TeamInclude = (typeof TEAM_INCLUDES)[number];

/** A team with its members, as far as `linkage` names them. */
export function showTeam(reader: Reader, found: FoundTeam, linkage: Linkage = namesAll): Resource {
  const { attributes, relationships, ...team } = showTeamAlone(found);
  const members = membersOf(reader, team.id);
  return {
    ...team,
    attributes: { ...attributes, 'users-count': members.userIds.length },
    relationships: {
      ...relationships,
      users: linkage('users', members.userIds),
      'organization-memberships': linkage('organization-memberships', members.membershipIds),
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
  const included = createIncluded(found.length);
  const linkage = namesSome();
  for (const { team, standing } of found) {
    const { userIds, membershipIds } = membersOf(reader, team.id);
    if (include.has('users')) {
      for (const id of userIds) included.add('users', id, () => showUser(living(reader.get(users, id)).row));
    }
    if (!include.has('organization-memberships')) continue;
    for (const id of membershipIds) {
      included.add('organization-memberships', id, () =>
        showMembership(reader, standing, living(reader.get(memberships, id)).row, linkage),
      );
    }
  }
  return { included: included.all() };
}

/** What a member's place in a team goes with. */
function living<T>(stored: T | undefined): T {
  if (stored === undefined) throw new TypeError('a member of a team is not there');
  return stored;
}

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
