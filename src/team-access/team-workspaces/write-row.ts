/** Puts rows into the state and takes them out, each with its entry in the audit log. What may be, others have checked. */
import { isDeepStrictEqual } from 'node:util';
import { newId } from '../../credentials/secret.ts';
import type { FoundWorkspace } from '../authorization/find-visible.ts';
import type { Writing } from '../http/request-pipeline.ts';
import { EXPIRED_BATCH } from '../limits.ts';
import { type TeamWorkspace, teamWorkspaces } from '../tables/team-workspace.ts';
import { expireRows } from './expire-rows.ts';
import type { FoundRow } from './find-row.ts';
import type { NewAccess } from './read-access.ts';
import { recordRow } from './record-row.ts';

/** Gives a team, which has no row there, access to a workspace. */
export function addRow(
  { tx, origin }: Pick<Writing, 'tx' | 'origin'>,
  found: FoundWorkspace,
  teamId: string,
  given: NewAccess,
): FoundRow {
  expireRows(tx, EXPIRED_BATCH);
  const id = tx.once(() => newId('tws'));
  const row = rowOf({ id, teamId, workspaceId: found.workspace.id, place: tx.position }, given);
  tx.put(teamWorkspaces, row);
  recordRow(tx, origin, found.standing.organization.id, 'add_team', { after: row });
  return { ...found, row };
}

/** Makes a row give what is given; one that does already is left alone, and given back as it stands. */
export function changeRow({ tx, origin }: Pick<Writing, 'tx' | 'origin'>, found: FoundRow, given: NewAccess): FoundRow {
  const before = found.row;
  const row = rowOf(before, given);
  if (isDeepStrictEqual(row, before)) return found;
  tx.put(teamWorkspaces, row);
  recordRow(tx, origin, found.standing.organization.id, 'update_team_permissions', { before, after: row });
  return { ...found, row };
}

/** Takes a row away. */
export function removeRow({ tx, origin }: Pick<Writing, 'tx' | 'origin'>, { row, standing }: FoundRow): void {
  tx.delete(teamWorkspaces, row.id);
  recordRow(tx, origin, standing.organization.id, 'remove_team', { before: row });
}

const rowOf = (
  { id, teamId, workspaceId, place }: Pick<TeamWorkspace, 'id' | 'teamId' | 'workspaceId' | 'place'>,
  { access, expiresAtMs }: NewAccess,
): TeamWorkspace => ({
  ...access,
  id,
  teamId,
  workspaceId,
  ...(expiresAtMs !== undefined && { expiresAtMs }),
  place,
});
