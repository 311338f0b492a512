/** Finds rows of `team-workspaces` for callers who may see or change them. Other rows are reported as not found. */
import { Type } from 'typebox';
import type { Query } from '../../http/call.ts';
import type { Parameter } from '../../http/parameter.ts';
import { filterInSlices, mapInSlices, type Steps, sortInSlices } from '../../state/clock/slices.ts';
import { listInSlices, type Reader } from '../../state/memory/reader.ts';
import type { DeepReadonly, Stored } from '../../state/table.ts';
import { accessToWorkspace, type Caller, dummyLookup } from '../authorization/caller.ts';
import { adminAccessEndMs } from '../authorization/compare-team.ts';
import { type FoundTeam, type FoundWorkspace, workspaceById } from '../authorization/find-visible.ts';
import { canManageTeamAccess, canSeeTeamAccess, hasTeamManagement, isInTeam } from '../authorization/permissions.ts';
import { type ErrorObject, notFound } from '../jsonapi/errors.ts';
import { byCreation, listByCreation, type Page, readPage } from '../jsonapi/pagination.ts';
import { type TeamWorkspace, teamWorkspacePair, teamWorkspaces } from '../tables/team-workspace.ts';

/** A row with its workspace, and the caller's role and access there. */
export interface FoundRow extends FoundWorkspace {
  readonly row: DeepReadonly<TeamWorkspace>;
}

/** A workspace that the caller administers. */
export interface AdministeredWorkspace extends FoundWorkspace {
  /** When the caller's admin access ends, in milliseconds since 1970, or infinity. */
  readonly adminEndMs: number;
}

/** A row of a workspace that the caller administers. */
export interface ChangeableRow extends FoundRow, AdministeredWorkspace {}

/** Returns the workspace if its organization has the plan `standard` [AUTHZ-18]. @throws JsonApiError `not-found` */
function workspaceWithTeams(reader: Reader, caller: Caller, id: string): FoundWorkspace {
  const found = workspaceById(reader, caller, id);
  if (hasTeamManagement(found.role)) return found;
  dummyLookup(reader, caller);
  throw notFound();
}

/** Returns the workspace to its admins [AUTHZ-23]. @throws JsonApiError `not-found` */
export function administeredWorkspace(reader: Reader, caller: Caller, id: string): AdministeredWorkspace {
  const found = workspaceWithTeams(reader, caller, id);
  if (!canManageTeamAccess(found.access)) throw notFound();
  return { ...found, adminEndMs: adminAccessEndMs(reader, found.role, id) };
}

/** Returns the row to callers who can see it [AUTHZ-22]. @throws JsonApiError `not-found` */
export function rowById(reader: Reader, caller: Caller, id: string): FoundRow {
  const row = reader.get(teamWorkspaces, id)?.row;
  const found = workspaceWithTeams(reader, caller, row?.workspaceId ?? '');
  if (row !== undefined && canSeeTeamAccess(found.role, found.access, row.teamId)) return { ...found, row };
  dummyLookup(reader, caller);
  throw notFound();
}

/** Returns the row to workspace admins [AUTHZ-23]. @throws JsonApiError `not-found` */
export function changeableRow(reader: Reader, caller: Caller, id: string): ChangeableRow {
  const found = rowById(reader, caller, id);
  if (!canManageTeamAccess(found.access)) throw notFound();
  return { ...found, adminEndMs: adminAccessEndMs(reader, found.role, found.workspace.id) };
}

export const WORKSPACE_FILTER: Parameter = {
  name: 'filter[workspace][id]',
  description: 'The ID of the workspace. Required.',
  schema: Type.String(),
};
export const TEAM_FILTER: Parameter = {
  name: 'filter[team][id]',
  description: 'Only the row of the team with this ID.',
  schema: Type.String(),
};

/** The query of `GET /team-workspaces`. */
export interface RowQuery {
  readonly workspaceId: string;
  readonly teamId: string | undefined;
  /** Undefined if the request asks for no page. The document then contains all rows [TEAM-51]. */
  readonly page: Page | undefined;
}

/** Reads the query; `filter[workspace][id]` is required [TEAM-49]. @throws JsonApiError `invalid-attribute` */
export function readRowQuery(query: Query): RowQuery {
  const workspaceId = query.get(WORKSPACE_FILTER.name) ?? '';
  const parameter = WORKSPACE_FILTER.name;
  const blank: ErrorObject = { code: 'invalid-attribute', detail: `${parameter} can't be blank`, parameter };
  const page = readPage(query, workspaceId === '' ? [blank] : []);
  return { workspaceId, teamId: query.get(TEAM_FILTER.name), page };
}

/**
 * Returns the rows of a workspace in order of creation: all rows if the caller is an admin of it, otherwise the rows of
 * the caller's teams [AUTHZ-22]. With `teamId`, returns only the row of that team, if the caller can see it [TEAM-50].
 * @throws JsonApiError `not-found`
 */
export function* rowsOfWorkspace(reader: Reader, caller: Caller, { workspaceId, teamId }: RowQuery): Steps<FoundRow[]> {
  const found = workspaceWithTeams(reader, caller, workspaceId);
  const rowOfTeam = (id: string): Stored<TeamWorkspace> | undefined =>
    reader.find(teamWorkspaces, 'pair', teamWorkspacePair(id, workspaceId));
  const seesAll = canManageTeamAccess(found.access);
  let rows: readonly (Stored<TeamWorkspace> | undefined)[];
  if (teamId !== undefined) rows = seesAll || isInTeam(found.role, teamId) ? [rowOfTeam(teamId)] : [];
  else if (seesAll) rows = yield* listInSlices(reader, teamWorkspaces, 'workspace', workspaceId);
  else rows = yield* mapInSlices(found.role.teams, ({ id }) => rowOfTeam(id));
  const existing = rows.filter((row) => row !== undefined);
  return (yield* sortInSlices(existing, byCreation)).map(({ row }) => ({ ...found, row }));
}

/**
 * Returns the rows of a team in order of creation. Members of the team get all rows. Other callers get the rows of
 * workspaces that they administer [AUTHZ-26].
 */
export function* rowsOfTeam(reader: Reader, { role, team }: FoundTeam): Steps<readonly DeepReadonly<TeamWorkspace>[]> {
  const member = isInTeam(role, team.id);
  const rows = (yield* listByCreation(reader, teamWorkspaces, 'team', team.id)).map(({ row }) => row);
  if (member) return rows;
  return yield* filterInSlices(rows, ({ workspaceId }) =>
    canManageTeamAccess(accessToWorkspace(reader, role, workspaceId)),
  );
}
