/** Finds rows and what stands around them; what the caller may not know of is not found. */
import type { Reader } from '../../state/memory/reader.ts';
import type { DeepReadonly } from '../../state/table.ts';
import type { Caller } from '../authorization/caller.ts';
import { lookHome } from '../authorization/caller-role.ts';
import { type FoundWorkspace, workspaceById } from '../authorization/find-visible.ts';
import { changesRows, seesRow, servesTeams } from '../authorization/permissions.ts';
import { notFound } from '../jsonapi/errors.ts';
import { type TeamWorkspace, teamWorkspaces } from '../tables/team-workspace.ts';

/** A row with its workspace, and what the caller is there. */
export interface FoundRow extends FoundWorkspace {
  readonly row: DeepReadonly<TeamWorkspace>;
}

/** The workspace with that id, where team management is served. @throws JsonApiError `not-found` */
export function workspaceWithTeams(reader: Reader, caller: Caller, id: string): FoundWorkspace {
  const found = workspaceById(reader, caller, id);
  if (servesTeams(found.standing)) return found;
  lookHome(reader, caller);
  throw notFound();
}

/** Likewise, for who changes its rows. @throws JsonApiError `not-found` */
export function administeredWorkspace(reader: Reader, caller: Caller, id: string): FoundWorkspace {
  const found = workspaceWithTeams(reader, caller, id);
  if (!changesRows(found.access)) throw notFound();
  return found;
}

/** The row with that id, for those who see it. @throws JsonApiError `not-found` */
export function rowById(reader: Reader, caller: Caller, id: string): FoundRow {
  const row = reader.get(teamWorkspaces, id)?.row;
  const found = workspaceWithTeams(reader, caller, row?.workspaceId ?? '');
  if (row !== undefined && seesRow(found.standing, found.access, row.teamId)) return { ...found, row };
  lookHome(reader, caller);
  throw notFound();
}

/** Likewise, for those who change it. @throws JsonApiError `not-found` */
export function changeableRow(reader: Reader, caller: Caller, id: string): FoundRow {
  const found = rowById(reader, caller, id);
  if (!changesRows(found.access)) throw notFound();
  return found;
}
