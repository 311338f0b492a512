/** Finds team access by workspace and team, or by ID. */

import { type ApiClient, type ApiOptions, apiPath } from '../../client/api-client.ts';
import { findTeam, findTeamInOrganization, findWorkspace } from '../../client/references.ts';
import { CommandError } from '../../errors.ts';
import type { Row, Rows } from './row-attributes.ts';

export interface RowOptions extends ApiOptions {
  readonly workspace?: string;
  readonly team?: string;
}

/** A row with its team and workspace, if the caller can see them. `subject` describes it in messages. */
export interface FoundRow extends Pick<Rows, 'included'> {
  readonly row: Row;
  readonly subject: string;
}

const WANTED = 'give --workspace and --team, or only the ID of the team access';
const INCLUDE = 'team,workspace';

/** Finds the rows of a workspace, of a team, or of both. @throws CommandError */
export async function findRows(api: ApiClient, { workspace, team }: RowOptions): Promise<Rows> {
  if (workspace !== undefined) return await readWorkspaceRows(api, workspace, team);
  if (team === undefined) throw new CommandError('usage', 'give --workspace, --team, or both');
  const { id } = (await findTeam(api, team)).team;
  const call = { path: apiPath('teams', id, 'team-workspaces'), subject: `team ${team}`, query: { include: INCLUDE } };
  const { data: rows, included = [] } = await api.readAll<Row>(call);
  return { rows, included };
}

/** Finds a row by its ID, or by its workspace and team. @throws CommandError */
export async function findRow(
  api: ApiClient,
  id: string | undefined,
  { workspace, team }: RowOptions,
): Promise<FoundRow> {
  if (id !== undefined) {
    if (workspace !== undefined || team !== undefined) throw new CommandError('usage', WANTED);
    const subject = `team access ${id}`;
    const call = { method: 'GET', path: apiPath('team-workspaces', id), subject, query: { include: INCLUDE } } as const;
    const { data: row, included = [] } = await api.read<Row>(call);
    return { row, included, subject };
  }
  if (workspace === undefined || team === undefined) throw new CommandError('usage', WANTED);
  const { rows, included } = await readWorkspaceRows(api, workspace, team);
  const subject = `access of team ${team} to workspace ${workspace}`;
  const [row] = rows;
  if (row === undefined) throw new CommandError('failed', `${subject}: not found, or you may not see it`);
  return { row, included, subject };
}

/** Reads the rows of a workspace, optionally of one team. The response has no pages, so it is one snapshot. */
async function readWorkspaceRows(api: ApiClient, named: string, team: string | undefined): Promise<Rows> {
  const { workspace, organization, fullName } = await findWorkspace(api, named);
  const { id: teamId } = team === undefined ? {} : await findTeamInOrganization(api, organization, team);
  const { data: rows, included = [] } = await api.read<readonly Row[]>({
    method: 'GET',
    path: apiPath('team-workspaces'),
    subject: `access to workspace ${fullName}`,
    query: { 'filter[workspace][id]': workspace.id, 'filter[team][id]': teamId, include: INCLUDE },
  });
  return { rows, included };
}
