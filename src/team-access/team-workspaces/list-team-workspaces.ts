/** `GET /team-workspaces` and `GET /teams/:id/team-workspaces`: the rows that a caller sees, in order of creation. */
import { Type } from 'typebox';
import type { Parameter } from '../../http/parameter.ts';
import type { Query } from '../../http/query.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { DeepReadonly, Stored } from '../../state/table.ts';
import type { Caller } from '../authorization/caller.ts';
import { accessOn } from '../authorization/caller-role.ts';
import type { FoundTeam } from '../authorization/find-visible.ts';
import { changesRows, isIn } from '../authorization/permissions.ts';
import type { Fault } from '../jsonapi/errors.ts';
import { type Page, readPage } from '../jsonapi/pagination.ts';
import { byCreation } from '../tables/creation-order.ts';
import { type TeamWorkspace, teamWorkspacePair, teamWorkspaces } from '../tables/team-workspace.ts';
import { type FoundRow, workspaceWithTeams } from './find-row.ts';

export const WORKSPACE_FILTER: Parameter = {
  name: 'filter[workspace][id]',
  description: 'Whose rows; it must be given.',
  schema: Type.String(),
};
export const TEAM_FILTER: Parameter = {
  name: 'filter[team][id]',
  description: 'Only the row of this team.',
  schema: Type.String(),
};

/** What a list of a workspace's rows is asked for. */
export interface RowQuery {
  readonly workspaceId: string;
  readonly teamId: string | undefined;
  /** All rows unless given. */
  readonly page: Page | undefined;
}

/** @throws JsonApiError `invalid-attribute` */
export function readRowQuery(query: Query): RowQuery {
  const workspaceId = query.get(WORKSPACE_FILTER.name) ?? '';
  const parameter = WORKSPACE_FILTER.name;
  const missing: Fault = { code: 'invalid-attribute', detail: `${parameter} can't be blank`, parameter };
  const page = readPage(query, workspaceId === '' ? [missing] : []);
  return { workspaceId, teamId: query.get(TEAM_FILTER.name), page };
}

/**
 * The rows of a workspace: all of them for its admins, those of their own teams for others.
 * @throws JsonApiError `not-found`
 */
export function rowsOfWorkspace(reader: Reader, caller: Caller, { workspaceId, teamId }: RowQuery): FoundRow[] {
  const found = workspaceWithTeams(reader, caller, workspaceId);
  const ofTeam = (id: string): Stored<TeamWorkspace> | undefined =>
    reader.find(teamWorkspaces, 'pair', teamWorkspacePair(id, workspaceId));
  const seesAll = changesRows(found.access);
  let rows: readonly (Stored<TeamWorkspace> | undefined)[];
  if (teamId !== undefined) rows = seesAll || isIn(found.standing, teamId) ? [ofTeam(teamId)] : [];
  else if (seesAll) rows = reader.list(teamWorkspaces, 'workspace', workspaceId);
  else rows = found.standing.teams.map(({ id }) => ofTeam(id));
  return byCreation(rows.filter((row) => row !== undefined)).map(({ row }) => ({ ...found, row }));
}

/** The rows of a team: all of them for its members, those of the workspaces that they administer for others. */
export function rowsOfTeam(reader: Reader, { standing, team }: FoundTeam): readonly DeepReadonly<TeamWorkspace>[] {
  const member = isIn(standing, team.id);
  return byCreation(reader.list(teamWorkspaces, 'team', team.id))
    .map(({ row }) => row)
    .filter(({ workspaceId }) => member || changesRows(accessOn(reader, standing, workspaceId)));
}
