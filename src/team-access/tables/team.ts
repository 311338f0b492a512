/** Teams of an organization, and their members. */
import { defineTable } from '../../state/table.ts';
import { nameInOrganization, organizations } from './organization.ts';
import type { OrganizationPermission } from './organization-access.ts';
import { memberships } from './organization-membership.ts';

/** Visibility to callers outside the team. `canSeeTeam` makes exceptions for `secret`. */
export type Visibility = 'secret' | 'organization';

export interface Team {
  /** `team-` and 16 letters or digits. */
  readonly id: string;
  readonly organizationId: string;
  /** Unique within the organization, without regard to case. */
  readonly name: string;
  readonly description: string | null;
  readonly visibility: Visibility;
  readonly ssoTeamId: string | null;
  readonly allowMemberTokenManagement: boolean;
  /** The permissions as set, without those that they imply. */
  readonly organizationAccess: readonly OrganizationPermission[];
  /** RFC 3339. */
  readonly createTime: string;
  /** Position within its commit, because lists are in order of creation. */
  readonly place: number;
}

/** Name of the team whose members own the organization. */
export const OWNERS_TEAM_NAME = 'owners';

export const teams = defineTable<Team>()({
  name: 'teams',
  key: (team) => team.id,
  formats: { version: 1 },
  indexes: {
    organization: { entry: (team) => team.organizationId },
    name: { entry: (team) => nameInOrganization(team.organizationId, team.name), unique: true },
  },
  owners: [{ table: organizations, index: 'organization' }],
  countsToward: [{ table: organizations, key: (team) => team.organizationId }],
});

/** A member of a team. Deleted with the team, and with the user's membership of the organization. */
export interface TeamMember {
  readonly teamId: string;
  readonly userId: string;
  readonly membershipId: string;
}

export const teamMembers = defineTable<TeamMember>()({
  name: 'team-members',
  key: ({ teamId, userId }) => teamMemberKey(teamId, userId),
  formats: { version: 1 },
  indexes: {
    team: { entry: (member) => member.teamId },
    user: { entry: (member) => member.userId },
    membership: { entry: (member) => member.membershipId },
  },
  owners: [
    { table: teams, index: 'team' },
    { table: memberships, index: 'membership' },
  ],
  countsToward: [{ table: teams, key: (member) => member.teamId }],
});

export const teamMemberKey = (teamId: string, userId: string): string => `${teamId}/${userId}`;
