/**
 * Who sees what, and who may change what: pure functions of a caller's standing in an organization. Rules:
 * team-access-decisions, "Who may do what" and "Who may do what around it". Whoever may not gets the one 404.
 */
import type { DeepReadonly } from '../../state/table.ts';
import { type OrganizationPermission, withImplied } from '../tables/organization-access.ts';
import type { Team } from '../tables/team.ts';
import type { Standing } from './caller-role.ts';
import type { Effective } from './effective-access.ts';

type AnyTeam = DeepReadonly<Team>;

/** Team management belongs to the standard edition: without it its endpoints answer 404, and rows still grant. */
export const servesTeams = ({ organization }: Standing): boolean => organization.plan === 'standard';

/** They are in the team, or it is theirs. */
export const isIn = (standing: Standing, teamId: string): boolean => standing.teams.some(({ id }) => id === teamId);

/** A secret team exists for its members, owners, and who may see secret teams. */
export const seesTeam = (standing: Standing, team: AnyTeam): boolean =>
  team.visibility === 'organization' || seesAllTeams(standing) || isIn(standing, team.id);

/** Those of a list that exist for them: both it and the caller's own teams can be thousands. */
export function seenTeams<T extends AnyTeam>(standing: Standing, all: readonly T[]): readonly T[] {
  if (seesAllTeams(standing)) return all;
  const own = new Set(standing.teams.map(({ id }) => id));
  return all.filter(({ id, visibility }) => visibility === 'organization' || own.has(id));
}

const seesAllTeams = ({ owner, permissions }: Standing): boolean => owner || permissions.has('access-secret-teams');

/** A row of a workspace: its admins see all of them, others those of their own teams. */
export const seesRow = (standing: Standing, access: Effective | undefined, teamId: string): boolean =>
  access !== undefined && (access.access === 'admin' || isIn(standing, teamId));

/** Changes rows of a workspace, and sees all of them. */
export const changesRows = (access: Effective | undefined): boolean => access?.access === 'admin';

/** Changes workspace settings, and deletes the workspace. */
export const changesWorkspace = ({ access }: Effective): boolean => access === 'admin';

/** Makes workspaces in the organization. */
export const makesWorkspaces = ({ permissions }: Standing): boolean => permissions.has('manage-workspaces');

/** Changes or deletes the organization, and its token. */
export const changesOrganization = ({ owner }: Standing): boolean => owner;

/** Makes teams; with organization access only what `givesOrganizationAccess` allows. */
export const makesTeams = ({ permissions }: Standing): boolean => permissions.has('manage-teams');

/** Changes a team's name, description, visibility and the like, or deletes it. */
export const changesTeam = (standing: Standing, team: AnyTeam): boolean => reaches(standing, team, 'manage-teams');

/** Adds and removes members of a team. */
export const changesMembers = (standing: Standing, team: AnyTeam): boolean =>
  reaches(standing, team, 'manage-membership');

/** Adds people to the organization, and removes them. */
export const changesMemberships = ({ permissions }: Standing): boolean => permissions.has('manage-membership');

/** Takes a member out of the organization, and so out of all of their teams; everybody may go themself. */
export const removesMember = (standing: Standing, theirs: readonly AnyTeam[]): boolean =>
  standing.owner ||
  (changesMemberships(standing) &&
    theirs.every(
      ({ id, organizationAccess }) =>
        id !== standing.organization.ownersTeamId && holdsAll(standing, organizationAccess),
    ));

/**
 * Changes a team's organization access to what is wanted: with every permission wanted, and every one that the team has,
 * held already, so that nobody raises themself.
 */
export const givesOrganizationAccess = (
  standing: Standing,
  team: AnyTeam | undefined,
  wanted: readonly OrganizationPermission[],
): boolean =>
  (team === undefined
    ? standing.permissions.has('manage-organization-access')
    : reaches(standing, team, 'manage-organization-access')) && holdsAll(standing, wanted);

/** Makes, reads and deletes the organization's token. That token itself issues none: it is in no team. */
export const managesOrganizationToken = ({ owner, teams }: Standing): boolean => owner && teams.length > 0;

/** Makes, reads and deletes tokens of a team; those of the owners' team owners alone. */
export const managesTeamTokens = (standing: Standing, team: AnyTeam): boolean =>
  managesOrganizationToken(standing) ||
  (isIn(standing, team.id) && team.allowMemberTokenManagement && team.id !== standing.organization.ownersTeamId);

/** The team has nothing that the caller lacks, and is not the owners' unless they are one. */
function reaches(standing: Standing, team: AnyTeam, permission: OrganizationPermission): boolean {
  if (standing.owner) return true;
  if (team.id === standing.organization.ownersTeamId || !seesTeam(standing, team)) return false;
  return standing.permissions.has(permission) && holdsAll(standing, team.organizationAccess);
}

function holdsAll({ permissions }: Standing, wanted: readonly OrganizationPermission[]): boolean {
  for (const permission of withImplied(wanted)) if (!permissions.has(permission)) return false;
  return true;
}
