/** What rows bring along: their teams and workspaces, as the caller could read them there. */
import type { Reader } from '../../state/memory/reader.ts';
import { seesTeam } from '../authorization/permissions.ts';
import { showTeam } from '../documents/team-to-json.ts';
import { showWorkspace } from '../documents/workspace-to-json.ts';
import type { Resource } from '../jsonapi/documents.ts';
import { createIncluded } from '../jsonapi/include.ts';
import { namesSome } from '../jsonapi/linkage.ts';
import { teams } from '../tables/team.ts';
import type { FoundRow } from './find-row.ts';

/** What a row can bring along. */
export const ROW_INCLUDES = ['team', 'workspace'] as const;
export type RowInclude = (typeof ROW_INCLUDES)[number];

/** Whoever sees a row has access to its workspace; a secret team may be known by nothing but its id. */
export function includedWithRows(
  reader: Reader,
  found: readonly FoundRow[],
  include: ReadonlySet<RowInclude>,
): { readonly included?: readonly Resource[] } {
  if (include.size === 0) return {};
  const included = createIncluded(found.length);
  const linkage = namesSome();
  for (const { row, standing } of include.has('team') ? found : []) {
    const team = reader.get(teams, row.teamId)?.row;
    if (team === undefined || !seesTeam(standing, team)) continue;
    included.add('teams', team.id, () => showTeam(reader, { standing, team }, linkage));
  }
  for (const one of include.has('workspace') ? found : []) {
    included.add('workspaces', one.workspace.id, () => showWorkspace(one));
  }
  return { included: included.all() };
}
