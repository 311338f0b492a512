/** `GET /organizations/:name/workspaces`: the workspaces of an organization that the caller has access to. */
import { Type } from 'typebox';
import type { Parameter } from '../../http/parameter.ts';
import type { Query } from '../../http/query.ts';
import type { Reader } from '../../state/reader.ts';
import type { Stored } from '../../state/table.ts';
import { byCreation } from '../order.ts';
import type { Standing } from '../standing.ts';
import { teamWorkspaces } from '../team-workspaces/team-workspace.ts';
import { type Workspace, workspaces } from './workspace.ts';

export const SEARCH_NAME: Parameter = {
  name: 'search[name]',
  description: 'Only those whose name contains this.',
  schema: Type.String(),
};

/** In order of creation. */
export function listWorkspaces(reader: Reader, standing: Standing, query: Query): readonly Stored<Workspace>[] {
  const wanted = (query.get(SEARCH_NAME.name) ?? '').toLowerCase();
  return byCreation(reachable(reader, standing)).filter(({ row }) => row.name.toLowerCase().includes(wanted));
}

/** All of them where an organization permission gives access; else those on which a team of theirs has a row. */
export function reachable(reader: Reader, standing: Standing): readonly Stored<Workspace>[] {
  if (standing.permissions.has('read-workspaces')) {
    return reader.list(workspaces, 'organization', standing.organization.id);
  }
  const rows = standing.teams.flatMap(({ id }) => reader.list(teamWorkspaces, 'team', id));
  const ids = new Set(rows.map(({ row }) => row.workspaceId));
  return [...ids].map((id) => reader.get(workspaces, id)).filter((stored) => stored !== undefined);
}
