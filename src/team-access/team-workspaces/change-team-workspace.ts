/** `PATCH` and `DELETE /team-workspaces/:id`: changes what a row gives, or takes it away. */
import { isDeepStrictEqual } from 'node:util';
import type { Call } from '../../http/call.ts';
import { changedAccess } from '../access.ts';
import { checkIfMatch } from '../jsonapi/documents.ts';
import type { Fault } from '../jsonapi/errors.ts';
import { type GivenResource, readResource } from '../jsonapi/read-resource.ts';
import type { Writing } from '../serve.ts';
import { changeableRow, type FoundRow } from './find-row.ts';
import { readAccess } from './read-access.ts';
import { recordRow } from './record-row.ts';
import { rowDocument, TEAM_WORKSPACES } from './show-team-workspace.ts';
import { type TeamWorkspace, teamWorkspaces } from './team-workspace.ts';

/** The resource of a body that changes the row with that id. @throws JsonApiError `invalid-body` */
export const readChangedTeamWorkspace = (body: Uint8Array, id: string): GivenResource =>
  readResource(body, {
    type: TEAM_WORKSPACES,
    updates: id,
    relationships: [
      { name: 'team', type: 'teams' },
      { name: 'workspace', type: 'workspaces' },
    ],
  });

/** @throws JsonApiError `not-found`, `invalid-attribute`, `precondition-failed` */
export function changeTeamWorkspace(
  { tx, caller, origin }: Writing,
  call: Call,
  id: string,
  { attributes, relationships }: GivenResource,
  terraform: boolean,
): FoundRow {
  const found = changeableRow(tx, caller, id);
  const before = found.row;
  const faults = movedFaults(before, relationships);
  const body = readAccess(attributes, { terraform, now: tx.now, level: before.access, faults });
  checkIfMatch(call, () => rowDocument(found, terraform));
  const { teamId, workspaceId, place } = before;
  const expiresAtMs = body.expiresAtMs === undefined ? before.expiresAtMs : (body.expiresAtMs ?? undefined);
  const row: TeamWorkspace = {
    ...changedAccess(before, body),
    id,
    teamId,
    workspaceId,
    ...(expiresAtMs !== undefined && { expiresAtMs }),
    place,
  };
  if (!isDeepStrictEqual(row, before)) {
    tx.put(teamWorkspaces, row);
    recordRow(tx, origin, found.standing.organization.id, 'update_team_permissions', { before, after: row });
  }
  return { ...found, row };
}

/** @throws JsonApiError `not-found`, `precondition-failed` */
export function deleteTeamWorkspace({ tx, caller, origin }: Writing, call: Call, id: string, terraform: boolean): void {
  const found = changeableRow(tx, caller, id);
  checkIfMatch(call, () => rowDocument(found, terraform));
  tx.delete(teamWorkspaces, id);
  recordRow(tx, origin, found.standing.organization.id, 'remove_team', { before: found.row });
}

/** A row stays with its team and its workspace. */
function movedFaults({ teamId, workspaceId }: FoundRow['row'], named: GivenResource['relationships']): Fault[] {
  const faults: Fault[] = [];
  for (const [name, label, id] of [
    ['team', 'Team', teamId],
    ['workspace', 'Workspace', workspaceId],
  ] as const) {
    if ((named.get(name) ?? id) === id) continue;
    faults.push({
      code: 'invalid-attribute',
      detail: `${label} can't be changed`,
      pointer: `/data/relationships/${name}`,
    });
  }
  return faults;
}
