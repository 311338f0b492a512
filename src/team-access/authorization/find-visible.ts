/**
 * Finds organizations, teams and workspaces for a caller. Resources that the caller may not know of are not found.
 *
 * The duration of an answer must not reveal whether a resource exists either, so every outcome makes the same lookups.
 * When the resource is missing or belongs to a foreign organization, dummy lookups in the caller's first organization
 * replace those around the resource. For a caller in one organization, the lookups are identical. For a caller in
 * several, they can differ only by the number of the caller's teams in each.
 */
import { mapInSlices, type Steps } from '../../state/clock/slices.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { DeepReadonly } from '../../state/table.ts';
import { JsonApiError, notFound } from '../jsonapi/errors.ts';
import { sortByCreation } from '../jsonapi/pagination.ts';
import {
  acceptsUserTokens,
  nameInOrganization,
  normalizeName,
  organizations,
  USER_TOKENS_ENABLED,
} from '../tables/organization.ts';
import { membershipPair, memberships } from '../tables/organization-membership.ts';
import { type Team, teams } from '../tables/team.ts';
import { type Workspace, workspaces } from '../tables/workspace.ts';
import { accessToWorkspace, type Caller, type CallerRole, callerRole, dummyLookup, homeRole } from './caller.ts';
import type { EffectiveAccess } from './effective-access.ts';
import { canSeeTeam, hasTeamManagement } from './permissions.ts';

export interface FoundTeam {
  readonly role: CallerRole;
  readonly team: DeepReadonly<Team>;
}

export interface FoundWorkspace {
  readonly role: CallerRole;
  readonly workspace: DeepReadonly<Workspace>;
  readonly access: EffectiveAccess;
}

/** Returns the caller's role in the organization of that name. @throws JsonApiError `not-found` */
export function organizationByName(reader: Reader, caller: Caller, name: string): CallerRole {
  const organization = reader.find(organizations, 'name', normalizeName(name));
  return roleInOrganization(reader, caller, organization?.row.id);
}

/**
 * Returns the caller's role in the organization of a requested resource. The ID is `undefined` for a missing resource.
 * @throws JsonApiError `not-found` when the caller does not belong to it; `forbidden` when it refuses tokens of users
 */
export function roleInOrganization(reader: Reader, caller: Caller, organizationId: string | undefined): CallerRole {
  const role = callerRole(reader, caller, organizationId ?? NO_ID);
  if (role !== undefined) return role;
  homeRole(reader, caller);
  throw userTokensRefused(reader, caller, organizationId ?? NO_ID) ?? notFound();
}

/** Returns the error for a member whose organization refuses the tokens of users [AUTHZ-93]. */
function userTokensRefused(reader: Reader, caller: Caller, organizationId: string): JsonApiError | undefined {
  if (caller.kind !== 'user') return undefined;
  const membership = reader.find(memberships, 'pair', membershipPair(organizationId, caller.userId));
  const organization = membership && reader.get(organizations, organizationId)?.row;
  if (organization === undefined || acceptsUserTokens(organization)) return undefined;
  const detail =
    `the organization '${organization.name}' does not accept the tokens of users (${USER_TOKENS_ENABLED} is false): ` +
    'use a token of the organization or of a team, or ask a site administrator to change it';
  return new JsonApiError([{ code: 'forbidden', detail }]);
}

/** An ID that no resource has. */
const NO_ID = '';

/**
 * Returns the caller's role in the organization of that name, which must have team management.
 * @throws JsonApiError `not-found`
 */
export function organizationWithTeams(reader: Reader, caller: Caller, name: string): CallerRole {
  const role = organizationByName(reader, caller, name);
  if (!hasTeamManagement(role)) throw notFound();
  return role;
}

/** Returns the team with that ID. @throws JsonApiError `not-found`, also when the caller cannot see it */
export function teamById(reader: Reader, caller: Caller, id: string): FoundTeam {
  const found = visibleTeam(reader, caller, id);
  if (found === undefined) throw notFound();
  return found;
}

/** Returns the team with that ID, or `undefined` when it is missing or the caller cannot see it. */
export function visibleTeam(reader: Reader, caller: Caller, id: string): FoundTeam | undefined {
  const team = reader.get(teams, id)?.row;
  const role = callerRole(reader, caller, team?.organizationId ?? NO_ID);
  if (team === undefined || role === undefined) {
    homeRole(reader, caller);
    return undefined;
  }
  if (hasTeamManagement(role) && canSeeTeam(role, team)) return { role, team };
  dummyLookup(reader, caller);
  return undefined;
}

/** Returns the workspace with that ID. @throws JsonApiError `not-found`, also when the caller has no access to it */
export function workspaceById(reader: Reader, caller: Caller, id: string): FoundWorkspace {
  const workspace = reader.get(workspaces, id)?.row;
  const role = callerRole(reader, caller, workspace?.organizationId ?? NO_ID);
  if (role === undefined) {
    const home = homeRole(reader, caller);
    if (home !== undefined) accessToWorkspace(reader, home, NO_ID);
    throw notFound();
  }
  try {
    return withAccess(reader, role, workspace);
  } catch (error) {
    dummyLookup(reader, caller);
    throw error;
  }
}

/** Returns the workspace of that name. @throws JsonApiError `not-found`, also when the caller has no access to it */
export function workspaceByName(reader: Reader, caller: Caller, organization: string, name: string): FoundWorkspace {
  const role = organizationByName(reader, caller, organization);
  const stored = reader.find(workspaces, 'name', nameInOrganization(role.organization.id, name));
  return withAccess(reader, role, stored?.row);
}

function withAccess(reader: Reader, role: CallerRole, workspace: DeepReadonly<Workspace> | undefined): FoundWorkspace {
  const access = accessToWorkspace(reader, role, workspace?.id ?? NO_ID);
  if (workspace === undefined || access === undefined) throw notFound();
  return { role, workspace, access };
}

/** Returns the caller's roles in their organizations whose name contains `q`, in the order in which they joined. */
export function* listOrganizations(reader: Reader, caller: Caller, q: string): Steps<readonly CallerRole[]> {
  const searched = q.toLowerCase();
  const roles = yield* mapInSlices(organizationIds(reader, caller), (id) => callerRole(reader, caller, id));
  return roles
    .filter((role) => role !== undefined)
    .filter(({ organization }) => organization.name.toLowerCase().includes(searched));
}

/** Returns the IDs of the caller's organizations, in the order in which the caller joined them. */
export function organizationIds(reader: Reader, caller: Caller): readonly string[] {
  switch (caller.kind) {
    case 'organization':
      return [caller.organizationId];
    case 'team': {
      const team = reader.get(teams, caller.teamId);
      return team === undefined ? [] : [team.row.organizationId];
    }
    case 'user':
      return sortByCreation(reader.list(memberships, 'user', caller.userId)).map(({ row }) => row.organizationId);
  }
}
