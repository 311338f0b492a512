/** What rows bring along: their teams and workspaces, as the caller could read them there. */
import type { Reader } from '../../state/reader.ts';
import { seesTeam } from '../authorization.ts';
import type { Resource } from '../jsonapi/documents.ts';
import { eachOnce } from '../jsonapi/include.ts';
import { showTeam } from '../teams/show-team.ts';
import { teams } from '../teams/team.ts';
import { showWorkspace } from '../workspaces/show-workspace.ts';
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
  const resources: Resource[] = [];
  if (include.has('team')) {
    for (const { row, standing } of found) {
      const team = reader.get(teams, row.teamId)?.row;
      if (team !== undefined && seesTeam(standing, team)) resources.push(showTeam(reader, { standing, team }));
    }
  }
  if (include.has('workspace')) {
    const byId = new Map(found.map((one) => [one.workspace.id, one]));
    resources.push(...[...byId.values()].map(showWorkspace));
  }
  return { included: eachOnce(resources) };
}
