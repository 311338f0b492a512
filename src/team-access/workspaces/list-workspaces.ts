/** Lists the workspaces of an organization that a caller has access to. */
import { Type } from 'typebox';
import type { Query } from '../../http/call.ts';
import type { Parameter } from '../../http/parameter.ts';
import { REFERENCE_BYTES } from '../../state/limits.ts';
import type { Snapshot } from '../../state/memory/snapshot.ts';
import type { Stored } from '../../state/table.ts';
import type { CallerRole } from '../authorization/caller.ts';
import { sortByCreation } from '../jsonapi/pagination.ts';
import { grantAccessEverywhere } from '../tables/organization-access.ts';
import { teamWorkspaces } from '../tables/team-workspace.ts';
import { type Workspace, workspaces } from '../tables/workspace.ts';

export const SEARCH_NAME: Parameter = {
  name: 'search[name]',
  description: 'Only workspaces whose name contains this text.',
  schema: Type.String(),
};

/** Returns the accessible workspaces whose name contains `search[name]`, in order of creation. */
export function listWorkspaces(reader: Snapshot, role: CallerRole, query: Query): readonly Stored<Workspace>[] {
  const text = (query.get(SEARCH_NAME.name) ?? '').toLowerCase();
  const all = accessibleWorkspaces(reader, role);
  return text === '' ? all : all.filter(({ row }) => row.name.toLowerCase().includes(text));
}

/**
 * Returns the workspaces that a role can access [AUTHZ-20], in order of creation: all of them with a
 * permission that grants access to all, otherwise those on which one of the role's teams has a row.
 */
export function accessibleWorkspaces(
  reader: Snapshot,
  { organization, permissions, teams }: CallerRole,
): readonly Stored<Workspace>[] {
  if (grantAccessEverywhere(permissions)) {
    // The order is cached, because there can be 100,000 workspaces and every page needs it.
    return reader.memoizeWhileUnchanged(
      workspaces,
      organization.id,
      () => sortByCreation(reader.list(workspaces, 'organization', organization.id)),
      ({ length }) => length * REFERENCE_BYTES,
    );
  }
  const rows = teams.flatMap(({ id }) => reader.list(teamWorkspaces, 'team', id));
  const ids = new Set(rows.map(({ row }) => row.workspaceId));
  return sortByCreation([...ids].map((id) => reader.get(workspaces, id)).filter((stored) => stored !== undefined));
}
