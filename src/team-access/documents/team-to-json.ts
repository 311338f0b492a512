/** The JSON form of a team, for a caller who can see it. */
import { Type } from 'typebox';
import { users } from '../../credentials/user.ts';
import { REFERENCE_BYTES } from '../../state/limits.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { Snapshot } from '../../state/memory/snapshot.ts';
import { type ComparisonBudget, comparisonBudget, isTeamWithinRole } from '../authorization/compare-team.ts';
import type { FoundTeam } from '../authorization/find-visible.ts';
import {
  canManageTeamTokens,
  canSetOrganizationAccess,
  canUpdateMembers,
  canUpdateTeam,
} from '../authorization/permissions.ts';
import type { Document, Resource } from '../jsonapi/documents.ts';
import { boundedLinkage, collectIncluded, fullLinkage, type Linkage } from '../jsonapi/include.ts';
import { resourceSchema, toManyOrCount, toOne } from '../jsonapi/schemas.ts';
import { ORGANIZATION_PERMISSIONS } from '../tables/organization-access.ts';
import { memberships } from '../tables/organization-membership.ts';
import { teamMembers } from '../tables/team.ts';
import { membershipToJson } from './organization-membership-to-json.ts';
import { organizationRelationship } from './organization-to-json.ts';
import { userToJson } from './user-to-json.ts';

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

export const TEAM_INCLUDES = ['users', 'organization-memberships'] as const;
export type TeamInclude = (typeof TEAM_INCLUDES)[number];

/** Returns a team. Documents with several teams pass one budget, so that their comparisons share it [DOC-45]. */
export function teamToJson(
  reader: Reader,
  found: FoundTeam,
  linkage: Linkage = fullLinkage,
  budget: ComparisonBudget = comparisonBudget(),
): Resource {
  const { attributes, relationships, ...team } = teamWithoutMembersToJson(reader, found, budget);
  const members = teamMemberIds(reader, team.id);
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

export function teamWithoutMembersToJson(
  reader: Reader,
  found: FoundTeam,
  budget: ComparisonBudget = comparisonBudget(),
): Resource {
  const { team, role } = found;
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
      permissions: permissions(reader, found, budget),
    },
    relationships: { organization: organizationRelationship(role.organization.name) },
    links: { self: `/api/v2/teams/${team.id}` },
  };
}

export const teamDocument = (reader: Reader, found: FoundTeam): Document => ({ data: teamToJson(reader, found) });

export function includedWithTeams(
  reader: Reader,
  found: readonly FoundTeam[],
  include: ReadonlySet<TeamInclude>,
): { readonly included?: readonly Resource[] } {
  if (include.size === 0) return {};
  const included = collectIncluded(found.length);
  const linkage = boundedLinkage();
  for (const { team, role } of found) {
    const { userIds, membershipIds } = teamMemberIds(reader, team.id);
    if (include.has('users')) {
      for (const id of userIds) included.add('users', id, () => userToJson(requireStored(reader.get(users, id)).row));
    }
    if (!include.has('organization-memberships')) continue;
    for (const id of membershipIds) {
      included.add('organization-memberships', id, () =>
        membershipToJson(reader, role, requireStored(reader.get(memberships, id)).row, linkage),
      );
    }
  }
  return { included: included.all() };
}

/** Returns a row to which a team member refers. @throws TypeError if it does not exist, which is a bug */
function requireStored<T>(stored: T | undefined): T {
  if (stored === undefined) throw new TypeError('a team member has no user or no membership');
  return stored;
}

function permissions(
  reader: Reader,
  { role, team }: FoundTeam,
  budget: ComparisonBudget,
): Readonly<Record<string, boolean>> {
  // Without `manage-membership`, which the other two permissions imply, there is nothing to compare.
  const joins = canUpdateMembers(role, team) && isTeamWithinRole(reader, role, team, budget);
  const changes = joins && canUpdateTeam(role, team);
  const tokens = canManageTeamTokens(role, team);
  const isOwners = team.id === role.organization.ownersTeamId;
  return {
    'can-update-membership': joins,
    'can-destroy': changes && !isOwners,
    'can-update-organization-access': changes && canSetOrganizationAccess(role, team),
    'can-update-api-token': tokens,
    'can-update-visibility': changes,
    'can-update-name': changes,
    'can-update-sso-team-id': changes,
    'can-update-member-token-management': changes,
    'can-view-api-token': tokens,
  };
}

/** The IDs of a team's members: of their users and of their memberships, in the same order. */
interface TeamMemberIds {
  readonly userIds: readonly string[];
  readonly membershipIds: readonly string[];
}

/**
 * Returns the members of a team. A snapshot caches them until a member of the team changes, because a page of teams can
 * have hundreds of thousands and every member of the organization may request it.
 */
function teamMemberIds(reader: Reader, teamId: string): TeamMemberIds {
  const read = (): TeamMemberIds => {
    const members = reader.list(teamMembers, 'team', teamId);
    return {
      userIds: members.map(({ row }) => row.userId),
      membershipIds: members.map(({ row }) => row.membershipId),
    };
  };
  // With possible orphans, the table can contain rows of members that no longer exist for readers.
  return isSnapshot(reader) && !reader.mayHaveOrphans
    ? reader.memoizeWhileUnchanged(teamMembers, teamId, read, ({ userIds }) => 2 * userIds.length * REFERENCE_BYTES)
    : read();
}

const isSnapshot = (reader: Reader): reader is Snapshot => 'memoizeWhileUnchanged' in reader;
