/** Teams of an organization. */
import { defineTable } from '../../state/table.ts';
import { nameWithin, organizations } from './organization.ts';
import type { OrganizationPermission } from './organization-access.ts';

/** A secret team does not exist for those who are not in it, with the exceptions of `authorization.ts`. */
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
  /** Members may make and delete the team's tokens. */
  readonly allowMemberTokenManagement: boolean;
  /** The permissions that were given, without what they imply. */
  readonly organizationAccess: readonly OrganizationPermission[];
  /** RFC 3339. */
  readonly createTime: string;
  /** Its place among what the same commit made: lists are in order of creation. */
  readonly place: number;
}

/** The team that owns an organization. */
export const OWNERS = 'owners';

export const teams = defineTable<Team>()({
  name: 'teams',
  key: (team) => team.id,
  formats: { version: 1 },
  indexes: {
    organization: { entry: (team) => team.organizationId },
    name: { entry: (team) => nameWithin(team.organizationId, team.name), unique: true },
  },
  owners: [{ table: organizations, index: 'organization' }],
});
