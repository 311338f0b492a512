/** Finds the subject of an access query: the caller, a user, or a team, if the caller may ask about it [AUTHZ-33]. */

import { Type } from 'typebox';
import { users } from '../../credentials/user.ts';
import type { Query } from '../../http/call.ts';
import type { Parameter } from '../../http/parameter.ts';
import type { Reader } from '../../state/memory/reader.ts';
import { type Caller, type CallerRole, roleWithTeams, userRole } from '../authorization/caller.ts';
import type { FoundWorkspace } from '../authorization/find-visible.ts';
import { canManageTeamAccess, hasTeamManagement, isInTeam } from '../authorization/permissions.ts';
import { type ErrorObject, JsonApiError, notFound } from '../jsonapi/errors.ts';
import { type Page, readPageOrDefault } from '../jsonapi/pagination.ts';
import { teams } from '../tables/team.ts';

export const USER_FILTER: Parameter = {
  name: 'filter[user]',
  description: 'The ID or the username of a user. Only owners may ask about other users.',
  schema: Type.String(),
};
export const TEAM_FILTER: Parameter = {
  name: 'filter[team]',
  description: 'The ID of a team. Only workspace admins may ask about teams that they are not in.',
  schema: Type.String(),
};

export const ORGANIZATION_FILTER: Parameter = {
  name: 'filter[organization]',
  description: 'The name of the organization. Required.',
  schema: Type.String(),
};

/** Reads the query of `GET /users/:id/effective-access` [AUTHZ-36]. @throws JsonApiError `invalid-attribute` */
export function readOrganizationQuery(query: Query): { readonly organization: string; readonly page: Page } {
  const organization = query.get(ORGANIZATION_FILTER.name) ?? '';
  const parameter = ORGANIZATION_FILTER.name;
  const blank: ErrorObject = { code: 'invalid-attribute', detail: `${parameter} can't be blank`, parameter };
  return { organization, page: readPageOrDefault(query, organization === '' ? [blank] : []) };
}

/** The subject that a query names. `undefined`: the caller. */
export type SubjectQuery = { readonly user: string } | { readonly team: string } | undefined;

/** Reads the filters, of which at most one is allowed [AUTHZ-32]. @throws JsonApiError `invalid-attribute` */
export function readSubjectQuery(query: Query): SubjectQuery {
  const user = query.get(USER_FILTER.name);
  const team = query.get(TEAM_FILTER.name);
  if (user === undefined) return team === undefined ? undefined : { team };
  if (team === undefined) return { user };
  const detail = `${USER_FILTER.name} and ${TEAM_FILTER.name} cannot be given together`;
  throw new JsonApiError([{ code: 'invalid-attribute', detail, parameter: TEAM_FILTER.name }]);
}

/** A user, team, or organization with its role in the organization of the query. */
export interface Subject {
  readonly id: string;
  readonly type: 'users' | 'teams' | 'organizations';
  readonly role: CallerRole;
}

/** @throws JsonApiError `not-found` if the subject has no role there or the caller may not ask about it */
export function findSubject(reader: Reader, caller: Caller, found: FoundWorkspace, query: SubjectQuery): Subject {
  if (query === undefined) return callerSubject(caller, found.role);
  return 'user' in query
    ? findUserSubject(reader, caller, found.role, query.user)
    : findTeamSubject(reader, found, query.team);
}

function callerSubject(caller: Caller, role: CallerRole): Subject {
  switch (caller.kind) {
    case 'user':
      return { id: caller.userId, type: 'users', role };
    case 'team':
      return { id: caller.teamId, type: 'teams', role };
    case 'organization':
      return { id: role.organization.name, type: 'organizations', role };
  }
}

/** Returns a user, by ID or username, to themselves and to owners. @throws JsonApiError `not-found` */
export function findUserSubject(
  reader: Reader,
  caller: Caller,
  { organization, owner }: CallerRole,
  idOrUsername: string,
): Subject {
  const byId = reader.get(users, idOrUsername);
  const byName = reader.find(users, 'username', idOrUsername.toLowerCase());
  const user = (byId ?? byName)?.row;
  const isSelf = caller.kind === 'user' && caller.userId === user?.id;
  if (!(owner || isSelf)) throw notFound();
  const role = userRole(reader, user?.id ?? '', organization, caller);
  if (user === undefined || role === undefined) throw notFound();
  return { id: user.id, type: 'users', role };
}

function findTeamSubject(reader: Reader, { role, access }: FoundWorkspace, id: string): Subject {
  const team = reader.get(teams, id)?.row;
  if (team?.organizationId !== role.organization.id || !hasTeamManagement(role)) throw notFound();
  if (!(isInTeam(role, id) || canManageTeamAccess(access))) throw notFound();
  return { id, type: 'teams', role: roleWithTeams(role.organization, [team]) };
}
