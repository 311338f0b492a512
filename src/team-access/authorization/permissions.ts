/** Permission checks, as pure functions of the caller's role. Endpoints answer 404 without permission ([TEAM-34]). */
import { derivedFrom } from '../../state/memory/derived-cache.ts';
import type { DeepReadonly } from '../../state/table.ts';
import { type OrganizationPermission, withImplied } from '../tables/organization-access.ts';
import type { Team } from '../tables/team.ts';
import type { CallerRole } from './caller.ts';
import type { EffectiveAccess } from './effective-access.ts';

type AnyTeam = DeepReadonly<Team>;

/**
 * Whether the plan includes team management. Without it, its endpoints answer 404, but existing rows still grant
 * access.
 */
export const hasTeamManagement = ({ organization }: CallerRole): boolean => organization.plan === 'standard';

/** Whether the caller is a member of the team or presents its token. */
export const isInTeam = (role: CallerRole, teamId: string): boolean => teamIds(role).has(teamId);

const teamIds = derivedFrom((role: CallerRole) => new Set(role.teams.map(({ id }) => id)));

/** Whether the caller can see a team. Only members, owners and `access-secret-teams` reveal a secret team. */
export const canSeeTeam = (role: CallerRole, team: AnyTeam): boolean =>
  team.visibility === 'organization' || canSeeAllTeams(role) || isInTeam(role, team.id);

/**
 * Returns the teams that the caller can see. Linear, because `all` and the caller's own teams can both be thousands.
 */
export function visibleTeams<T extends AnyTeam>(role: CallerRole, all: readonly T[]): readonly T[] {
  if (canSeeAllTeams(role)) return all;
  const own = teamIds(role);
  return all.filter(({ id, visibility }) => visibility === 'organization' || own.has(id));
}

const canSeeAllTeams = ({ owner, permissions }: CallerRole): boolean => owner || permissions.has('access-secret-teams');

/** Whether the caller can see a team's row. Workspace admins see all rows, and other callers their teams' rows. */
export const canSeeTeamAccess = (role: CallerRole, access: EffectiveAccess | undefined, teamId: string): boolean =>
  access !== undefined && (access.access === 'admin' || isInTeam(role, teamId));

/** Whether the caller may change the rows of a workspace, and see all of them. */
export const canManageTeamAccess = (access: EffectiveAccess | undefined): boolean => access?.access === 'admin';

/** Whether the caller may update and delete a workspace. */
export const canUpdateWorkspace = ({ access }: EffectiveAccess): boolean => access === 'admin';

export const canCreateWorkspaces = ({ permissions }: CallerRole): boolean => permissions.has('manage-workspaces');

/** Whether the caller may update and delete the organization. */
export const canUpdateOrganization = ({ owner }: CallerRole): boolean => owner;

/** Whether the caller may create teams. `canSetOrganizationAccess` limits their organization access. */
export const canCreateTeams = ({ permissions }: CallerRole): boolean => permissions.has('manage-teams');

/**
 * Whether the caller may change a team's name, description and visibility, or delete the team. `checkTeamWithinRole`
 * limits this and the two permissions below to teams that grant no more than the caller has.
 */
export const canUpdateTeam = (role: CallerRole, team: AnyTeam): boolean => canManageTeam(role, team, 'manage-teams');

export const canUpdateMembers = (role: CallerRole, team: AnyTeam): boolean =>
  canManageTeam(role, team, 'manage-membership');

/** Whether the caller may set organization permissions: of a team, or of a new team if `team` is `undefined`. */
export const canSetOrganizationAccess = (role: CallerRole, team: AnyTeam | undefined): boolean =>
  team === undefined
    ? role.permissions.has('manage-organization-access')
    : canManageTeam(role, team, 'manage-organization-access');

/** Whether the caller may make a team secret. Others could not see the team afterwards [AUTHZ-43]. */
export const canMakeSecret = (role: CallerRole): boolean => canSeeAllTeams(role);

export const canManageMemberships = ({ permissions }: CallerRole): boolean => permissions.has('manage-membership');

/** Whether the caller may remove another member from the organization. `memberTeams` are all teams of that member. */
export const canRemoveMember = (role: CallerRole, memberTeams: readonly AnyTeam[]): boolean =>
  role.owner ||
  (canManageMemberships(role) &&
    memberTeams.every(
      ({ id, organizationAccess }) =>
        id !== role.organization.ownersTeamId && lackedPermission(role, organizationAccess) === undefined,
    ));

/** Whether the caller may manage the organization's token. That token itself may not, because it has no team. */
export const canManageOrganizationToken = ({ owner, teams }: CallerRole): boolean => owner && teams.length > 0;

/** Whether the caller may manage the tokens of a team. Only owners manage those of the `owners` team. */
export const canManageTeamTokens = (role: CallerRole, team: AnyTeam): boolean =>
  canManageOrganizationToken(role) ||
  (isInTeam(role, team.id) && team.allowMemberTokenManagement && team.id !== role.organization.ownersTeamId);

/** Whether the caller has `permission` and sees the team. Only owners manage the `owners` team. */
function canManageTeam(role: CallerRole, team: AnyTeam, permission: OrganizationPermission): boolean {
  if (role.owner) return true;
  return team.id !== role.organization.ownersTeamId && canSeeTeam(role, team) && role.permissions.has(permission);
}

/** Returns a permission, `wanted` or implied by them, that the caller lacks, or `undefined`. */
export function lackedPermission(
  { permissions }: CallerRole,
  wanted: readonly OrganizationPermission[],
): OrganizationPermission | undefined {
  for (const permission of withImplied(wanted)) if (!permissions.has(permission)) return permission;
  return undefined;
}
