/** Finds the tokens that a caller may manage [AUTHZ-73 to AUTHZ-78]. */
import { users, userTokens } from '../../credentials/user.ts';
import type { Steps } from '../../state/clock/slices.ts';
import { listInSlices, type Reader } from '../../state/memory/reader.ts';
import type { Stored } from '../../state/table.ts';
import {
  type Caller,
  type CallerRole,
  callerRole,
  dummyLookup,
  homeRole,
  withoutCachedRoles,
} from '../authorization/caller.ts';
import { organizationByName, teamById, visibleTeam } from '../authorization/find-visible.ts';
import { canManageOrganizationToken, canManageTeamTokens } from '../authorization/permissions.ts';
import { checkSiteAdmin } from '../authorization/site-admin.ts';
import type { AnyToken } from '../documents/authentication-token-to-json.ts';
import { notFound } from '../jsonapi/errors.ts';
import { sortByCreationAndId } from '../jsonapi/pagination.ts';
import { type ApiToken, apiTokens } from '../tables/authentication-token.ts';
import { teams } from '../tables/team.ts';
import type { TokenOwner } from './change-token.ts';

/** Returns the organization if the caller may manage its token [AUTHZ-73]. @throws JsonApiError `not-found` */
export function organizationOwner(reader: Reader, caller: Caller, name: string): TokenOwner {
  const role = organizationByName(reader, caller, name);
  if (!canManageOrganizationToken(role)) throw notFound();
  return { kind: 'organization', organizationId: role.organization.id };
}

/** Returns the team if the caller may manage its tokens [AUTHZ-74]. @throws JsonApiError `not-found` */
export function teamOwner(reader: Reader, caller: Caller, id: string, single: boolean): TokenOwner {
  const { role, team } = teamById(reader, caller, id);
  if (!canManageTeamTokens(role, team)) throw notFound();
  return { kind: 'team', teamId: id, organizationId: team.organizationId, single };
}

/** Returns the user if they are the caller [AUTHZ-77]. @throws JsonApiError `not-found` */
export function selfOwner(caller: Caller, userId: string): TokenOwner {
  if (caller.kind !== 'user' || caller.userId !== userId) throw notFound();
  return { kind: 'user', userId };
}

/** Returns a token that the caller may manage [AUTHZ-78]. @throws JsonApiError `not-found` */
export function tokenById(reader: Reader, caller: Caller, id: string): AnyToken {
  const userToken = reader.get(userTokens, id)?.row;
  if (userToken !== undefined && caller.kind === 'user' && caller.userId === userToken.userId) return userToken;
  const token = reader.get(apiTokens, id)?.row;
  // Every token costs both lookups, so that their duration does not reveal the owner of the token [AUTHZ-13].
  const uncached = withoutCachedRoles(caller);
  const viaTeam = canManageTokensOfTeam(reader, uncached, token?.teamId ?? '');
  const viaOrganization = canManageTokenOfOrganization(reader, uncached, token?.organizationId ?? '');
  if (token === undefined || !(viaTeam || viaOrganization)) throw notFound();
  return token;
}

/** Returns the tokens of all teams whose tokens the caller may manage, in order of creation [AUTHZ-79]. */
export function* teamTokens(reader: Reader, role: CallerRole): Steps<readonly ApiToken[]> {
  const tokens: Stored<ApiToken>[] = [];
  for (const { row } of yield* listInSlices(reader, teams, 'organization', role.organization.id)) {
    yield;
    if (!canManageTeamTokens(role, row)) continue;
    for (const token of yield* listInSlices(reader, apiTokens, 'team', row.id)) tokens.push(token);
  }
  return (yield* sortByCreationAndId(tokens)).map(({ row }) => row);
}

function canManageTokensOfTeam(reader: Reader, caller: Caller, teamId: string): boolean {
  const found = visibleTeam(reader, caller, teamId);
  if (found === undefined) return false;
  if (canManageTeamTokens(found.role, found.team)) return true;
  dummyLookup(reader, caller);
  return false;
}

function canManageTokenOfOrganization(reader: Reader, caller: Caller, organizationId: string): boolean {
  const role = callerRole(reader, caller, organizationId);
  if (role === undefined) homeRole(reader, caller);
  else dummyLookup(reader, caller);
  return role !== undefined && canManageOrganizationToken(role);
}

/**
 * Returns the tokens of teams and organizations that a user created, in order of creation, to site administrators
 * [AUTHZ-88]. The user may be deleted.
 * @throws JsonApiError `not-found`, also for a user who is unknown and has created no token
 */
export function* createdTokens(reader: Reader, caller: Caller, userId: string): Steps<readonly ApiToken[]> {
  checkSiteAdmin(caller);
  const tokens = yield* listInSlices(reader, apiTokens, 'createdBy', userId);
  if (tokens.length === 0 && reader.get(users, userId) === undefined) throw notFound();
  return (yield* sortByCreationAndId(tokens)).map(({ row }) => row);
}
