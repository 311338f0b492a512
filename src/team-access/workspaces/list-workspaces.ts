/** `GET /organizations/:name/workspaces`: the workspaces of an organization that the caller has access to. */
import { Type } from 'typebox';
import type { Parameter } from '../../http/parameter.ts';
import type { Query } from '../../http/query.ts';
import type { Snapshot } from '../../state/memory/snapshot.ts';
import type { Stored } from '../../state/table.ts';
import type { Standing } from '../authorization/caller-role.ts';
import { byCreation } from '../tables/creation-order.ts';
import { teamWorkspaces } from '../tables/team-workspace.ts';
import { type Workspace, workspaces } from '../tables/workspace.ts';

export const SEARCH_NAME: Parameter = {
  name: 'search[name]',
  description: 'Only those whose name contains this.',
  schema: Type.String(),
};

/** In order of creation. */
export function listWorkspaces(reader: Snapshot, standing: Standing, query: Query): readonly Stored<Workspace>[] {
  const wanted = (query.get(SEARCH_NAME.name) ?? '').toLowerCase();
  const all = reachable(reader, standing);
  return wanted === '' ? all : all.filter(({ row }) => row.name.toLowerCase().includes(wanted));
}

/**
 * All of them where an organization permission gives access; else those on which a team of theirs has a row. In order
 * of creation.
 */
export function reachable(
  reader: Snapshot,
  { organization, permissions, teams }: Standing,
): readonly Stored<Workspace>[] {
  if (permissions.has('read-workspaces')) {
    // There may be a hundred thousand, and every page of them needs their order.
    return reader.memoWhile(workspaces, organization.id, () =>
      byCreation(reader.list(workspaces, 'organization', organization.id)),
    );
  }
  const rows = teams.flatMap(({ id }) => reader.list(teamWorkspaces, 'team', id));
  const ids = new Set(rows.map(({ row }) => row.workspaceId));
  return byCreation([...ids].map((id) => reader.get(workspaces, id)).filter((stored) => stored !== undefined));
}
