/** Lists the workspaces of an organization that a caller has access to. */
import { Type } from 'typebox';
import type { Query } from '../../http/call.ts';
import type { Parameter } from '../../http/parameter.ts';
import { filterInSlices, mapInSlices, type Steps, sortInSlices } from '../../state/clock/slices.ts';
import { REFERENCE_BYTES } from '../../state/limits.ts';
import { listInSlices } from '../../state/memory/reader.ts';
import type { Snapshot } from '../../state/memory/snapshot.ts';
import type { Stored } from '../../state/table.ts';
import type { CallerRole } from '../authorization/caller.ts';
import { byCreation, listByCreation } from '../jsonapi/pagination.ts';
import { grantAccessEverywhere } from '../tables/organization-access.ts';
import { teamWorkspaces } from '../tables/team-workspace.ts';
import { type Workspace, workspaces } from '../tables/workspace.ts';

export const SEARCH_NAME: Parameter = {
  name: 'search[name]',
  description: 'Only workspaces whose name contains this text.',
  schema: Type.String(),
};

/** Returns the accessible workspaces whose name contains `search[name]`, in order of creation. */
export function* listWorkspaces(reader: Snapshot, role: CallerRole, query: Query): Steps<readonly Stored<Workspace>[]> {
  const text = (query.get(SEARCH_NAME.name) ?? '').toLowerCase();
  const all = yield* accessibleWorkspaces(reader, role);
  return text === '' ? all : yield* filterInSlices(all, ({ row }) => row.name.toLowerCase().includes(text));
}

/**
 * Returns the workspaces that a role can access [AUTHZ-20], in order of creation: all of them with a
 * permission that grants access to all, otherwise those on which one of the role's teams has a row.
 */
export function* accessibleWorkspaces(
  reader: Snapshot,
  { organization, permissions, teams }: CallerRole,
): Steps<readonly Stored<Workspace>[]> {
  if (grantAccessEverywhere(permissions)) {
    // The order is cached, because there can be 100,000 workspaces and every page needs it.
    return yield* reader.memoizeWhileUnchangedInSlices(
      workspaces,
      organization.id,
      () => listByCreation(reader, workspaces, 'organization', organization.id),
      ({ length }) => length * REFERENCE_BYTES,
    );
  }
  const ids = new Set<string>();
  for (const { id } of teams) {
    for (const { row } of yield* listInSlices(reader, teamWorkspaces, 'team', id)) ids.add(row.workspaceId);
    yield;
  }
  const found = yield* mapInSlices(ids, (id) => reader.get(workspaces, id));
  const existing = found.filter((stored) => stored !== undefined);
  return yield* sortInSlices(existing, byCreation);
}
