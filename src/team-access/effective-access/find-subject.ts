/** Whose access is asked for: oneself, a user or a team. Who may not ask is told that there is nothing. */

import { Type } from 'typebox';
import { users } from '../../credentials/user.ts';
import type { Parameter } from '../../http/parameter.ts';
import type { Query } from '../../http/query.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { Caller } from '../authorization/caller.ts';
import { type Standing, standingWith, userStanding } from '../authorization/caller-role.ts';
import type { FoundWorkspace } from '../authorization/find-visible.ts';
import { changesRows, isIn, servesTeams } from '../authorization/permissions.ts';
import { type Fault, JsonApiError, notFound } from '../jsonapi/errors.ts';
import { type Page, readPageAlways } from '../jsonapi/pagination.ts';
import { teams } from '../tables/team.ts';

export const USER_FILTER: Parameter = {
  name: 'filter[user]',
  description: 'Whose access: the id or the name of a user. Of others than oneself for owners only.',
  schema: Type.String(),
};
export const TEAM_FILTER: Parameter = {
  name: 'filter[team]',
  description: 'Whose access: the id of a team. Of others than its own for admins of the workspace only.',
  schema: Type.String(),
};

export const ORGANIZATION_FILTER: Parameter = {
  name: 'filter[organization]',
  description: 'The name of the organization; it must be given.',
  schema: Type.String(),
};

/** In which organization, and which page. @throws JsonApiError `invalid-attribute` */
export function readOrganizationQuery(query: Query): { readonly organization: string; readonly page: Page } {
  const organization = query.get(ORGANIZATION_FILTER.name) ?? '';
  const parameter = ORGANIZATION_FILTER.name;
  const missing: Fault = { code: 'invalid-attribute', detail: `${parameter} can't be blank`, parameter };
  return { organization, page: readPageAlways(query, organization === '' ? [missing] : []) };
}

/** Whose access is asked for; `undefined`: the caller's. */
export type Wanted = { readonly user: string } | { readonly team: string } | undefined;

/** @throws JsonApiError `invalid-attribute` */
export function readWanted(query: Query): Wanted {
  const user = query.get(USER_FILTER.name);
  const team = query.get(TEAM_FILTER.name);
  if (user === undefined) return team === undefined ? undefined : { team };
  if (team === undefined) return { user };
  const detail = `${USER_FILTER.name} and ${TEAM_FILTER.name} cannot be given together`;
  throw new JsonApiError([{ code: 'invalid-attribute', detail, parameter: TEAM_FILTER.name }]);
}

/** Who it is, and what they are in the organization. */
export interface Subject {
  readonly id: string;
  readonly type: 'users' | 'teams' | 'organizations';
  readonly standing: Standing;
}

/** @throws JsonApiError `not-found` for who is not in the organization, and who the caller may not ask about */
export function findSubject(reader: Reader, caller: Caller, found: FoundWorkspace, wanted: Wanted): Subject {
  if (wanted === undefined) return callerThemself(caller, found.standing);
  return 'user' in wanted
    ? findUser(reader, caller, found.standing, wanted.user)
    : findTeam(reader, found, wanted.team);
}

function callerThemself(caller: Caller, standing: Standing): Subject {
  switch (caller.kind) {
    case 'user':
      return { id: caller.userId, type: 'users', standing };
    case 'team':
      return { id: caller.teamId, type: 'teams', standing };
    case 'organization':
      return { id: standing.organization.name, type: 'organizations', standing };
  }
}

/** A user with what they are in the organization, for themself and for owners. @throws JsonApiError `not-found` */
export function findUser(reader: Reader, caller: Caller, { organization, owner }: Standing, named: string): Subject {
  const byId = reader.get(users, named);
  const byName = reader.find(users, 'username', named.toLowerCase());
  const user = (byId ?? byName)?.row;
  const themself = caller.kind === 'user' && caller.userId === user?.id;
  if (!(owner || themself)) throw notFound();
  const standing = userStanding(reader, user?.id ?? '', organization);
  if (user === undefined || standing === undefined) throw notFound();
  return { id: user.id, type: 'users', standing };
}

function findTeam(reader: Reader, { standing, access }: FoundWorkspace, id: string): Subject {
  const team = reader.get(teams, id)?.row;
  if (team?.organizationId !== standing.organization.id || !servesTeams(standing)) throw notFound();
  if (!(isIn(standing, id) || changesRows(access))) throw notFound();
  return { id, type: 'teams', standing: standingWith(standing.organization, [team]) };
}
