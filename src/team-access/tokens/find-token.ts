/** Finds tokens that the caller manages: their own, their teams', those of organizations that they own. */
import { userTokens } from '../../credentials/user.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { Caller } from '../authorization/caller.ts';
import { lookHome, type Standing, standingAtHome, standingOf } from '../authorization/caller-role.ts';
import { organizationNamed, teamById, teamKnown } from '../authorization/find-visible.ts';
import { managesOrganizationToken, managesTeamTokens } from '../authorization/permissions.ts';
import type { AnyToken } from '../documents/authentication-token-to-json.ts';
import { notFound } from '../jsonapi/errors.ts';
import { type ApiToken, apiTokens } from '../tables/authentication-token.ts';
import { teams } from '../tables/team.ts';
import type { TokenOwner } from './change-token.ts';

/** An organization as the owner of its token. @throws JsonApiError `not-found` for who may not manage it */
export function organizationOwner(reader: Reader, caller: Caller, name: string): TokenOwner {
  const standing = organizationNamed(reader, caller, name);
  if (!managesOrganizationToken(standing)) throw notFound();
  return { kind: 'organization', organizationId: standing.organization.id };
}

/** A team as the owner of tokens. @throws JsonApiError `not-found` for who may not manage them */
export function teamOwner(reader: Reader, caller: Caller, id: string, plain: boolean): TokenOwner {
  const { standing, team } = teamById(reader, caller, id);
  if (!managesTeamTokens(standing, team)) throw notFound();
  return { kind: 'team', teamId: id, organizationId: team.organizationId, plain };
}

/** A user as the owner of tokens: oneself alone. @throws JsonApiError `not-found` */
export function selfOwner(caller: Caller, userId: string): TokenOwner {
  if (caller.kind !== 'user' || caller.userId !== userId) throw notFound();
  return { kind: 'user', userId };
}

/** @throws JsonApiError `not-found` for a token that the caller may not manage */
export function tokenById(reader: Reader, caller: Caller, id: string): AnyToken {
  const userToken = reader.get(userTokens, id)?.row;
  if (userToken !== undefined && caller.kind === 'user' && caller.userId === userToken.userId) return userToken;
  const token = reader.get(apiTokens, id)?.row;
  // Both ways, whatever the token is of, so that the look-ups do not tell.
  const ofTeam = managesTokensOf(reader, caller, token?.teamId ?? '');
  const ofOrganization = managesTokenOf(reader, caller, token?.organizationId ?? '');
  if (token === undefined || !(ofTeam || ofOrganization)) throw notFound();
  return token;
}

/** The tokens of the teams whose tokens the caller manages. */
export const teamTokens = (reader: Reader, standing: Standing): readonly ApiToken[] =>
  reader
    .list(teams, 'organization', standing.organization.id)
    .filter(({ row }) => managesTeamTokens(standing, row))
    .flatMap(({ row }) => reader.list(apiTokens, 'team', row.id))
    .toSorted((a, b) => a.createIndex - b.createIndex || (a.row.id < b.row.id ? -1 : 1))
    .map(({ row }) => row);

function managesTokensOf(reader: Reader, caller: Caller, teamId: string): boolean {
  const found = teamKnown(reader, caller, teamId);
  if (found === undefined) return false;
  if (managesTeamTokens(found.standing, found.team)) return true;
  lookHome(reader, caller);
  return false;
}

function managesTokenOf(reader: Reader, caller: Caller, organizationId: string): boolean {
  const standing = standingOf(reader, caller, organizationId);
  if (standing === undefined) standingAtHome(reader, caller);
  else lookHome(reader, caller);
  return standing !== undefined && managesOrganizationToken(standing);
}
