/** How people name rows: by workspace and team, or by ID. */
import { CommandError } from '../../errors.ts';
import { type Api, type ApiOptions, apiPath } from './api.ts';
import { findTeam, findWorkspace, teamIn } from './references.ts';
import type { Row, Rows } from './row-attributes.ts';

/** The options that name rows. */
export interface RowOptions extends ApiOptions {
  readonly workspace?: string;
  readonly team?: string;
}

/** A row with the team and the workspace, as far as the caller sees them; `about` names it for people. */
export interface FoundRow extends Pick<Rows, 'included'> {
  readonly row: Row;
  readonly about: string;
}

const WANTED = 'name the row by --workspace and --team, or by its ID alone';
const INCLUDE = 'team,workspace';

/** @throws CommandError */
export async function findRows(api: Api, { workspace, team }: RowOptions): Promise<Rows> {
  if (workspace !== undefined) return await rowsOfWorkspace(api, workspace, team);
  if (team === undefined) throw new CommandError('usage', 'whose rows? Give --workspace, --team or both');
  const { id } = (await findTeam(api, team)).team;
  const call = { path: apiPath('teams', id, 'team-workspaces'), about: `team ${team}`, query: { include: INCLUDE } };
  const { data: rows, included = [] } = await api.readAll<Row>(call);
  return { rows, included };
}

/** @throws CommandError */
export async function findRow(api: Api, id: string | undefined, { workspace, team }: RowOptions): Promise<FoundRow> {
  if (id !== undefined) {
    if (workspace !== undefined || team !== undefined) throw new CommandError('usage', WANTED);
    const about = `row ${id}`;
    const call = { method: 'GET', path: apiPath('team-workspaces', id), about, query: { include: INCLUDE } } as const;
    const { data: row, included = [] } = await api.read<Row>(call);
    return { row, included, about };
  }
  if (workspace === undefined || team === undefined) throw new CommandError('usage', WANTED);
  const { rows, included } = await rowsOfWorkspace(api, workspace, team);
  const about = `access of team ${team} to workspace ${workspace}`;
  const [row] = rows;
  if (row === undefined) throw new CommandError('refused', `${about}: not found, or you may not see it`);
  return { row, included, about };
}

/** Not in pages: they come at once, and so are from one moment. */
async function rowsOfWorkspace(api: Api, named: string, team: string | undefined): Promise<Rows> {
  const { workspace, organization, fullName } = await findWorkspace(api, named);
  const { id: teamId } = team === undefined ? {} : await teamIn(api, organization, team);
  const { data: rows, included = [] } = await api.read<readonly Row[]>({
    method: 'GET',
    path: apiPath('team-workspaces'),
    about: `access to workspace ${fullName}`,
    query: { 'filter[workspace][id]': workspace.id, 'filter[team][id]': teamId, include: INCLUDE },
  });
  return { rows, included };
}
