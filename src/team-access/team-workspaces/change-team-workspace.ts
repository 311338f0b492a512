/** `PATCH` and `DELETE /team-workspaces/:id`: changes what a row gives, or takes it away. */

import { rowDocument, TEAM_WORKSPACES } from '../documents/team-workspace-to-json.ts';
import type { Writing } from '../http/request-pipeline.ts';
import type { Precondition } from '../jsonapi/documents.ts';
import type { Fault } from '../jsonapi/errors.ts';
import type { GivenResource, WantedResource } from '../jsonapi/read-resource.ts';
import { changedAccess } from '../tables/access.ts';
import { changeableRow, type FoundRow } from './find-row.ts';
import { readAccess } from './read-access.ts';
import { changeRow, removeRow } from './write-row.ts';

/** What changes the row with that id. */
export const changedTeamWorkspace = (id: string): WantedResource => ({
  type: TEAM_WORKSPACES,
  updates: id,
  relationships: [
    { name: 'team', type: 'teams' },
    { name: 'workspace', type: 'workspaces' },
  ],
});

/** How a row is found and shown. */
export interface RowOptions {
  readonly id: string;
  readonly precondition: Precondition;
  readonly terraform: boolean;
}

/** @throws JsonApiError `not-found`, `invalid-attribute`, `precondition-failed` */
export function changeTeamWorkspace(
  writing: Writing,
  { id, precondition, terraform }: RowOptions,
  { attributes, relationships }: GivenResource,
): FoundRow {
  const { tx, caller } = writing;
  const found = changeableRow(tx, caller, id);
  const before = found.row;
  const faults = movedFaults(before, relationships);
  const body = readAccess(attributes, { terraform, now: tx.now, level: before.access, faults });
  precondition(() => rowDocument(found, terraform));
  const expiresAtMs = body.expiresAtMs === undefined ? before.expiresAtMs : (body.expiresAtMs ?? undefined);
  return changeRow(writing, found, { access: changedAccess(before, body), expiresAtMs });
}

/** @throws JsonApiError `not-found`, `precondition-failed` */
export function deleteTeamWorkspace(writing: Writing, { id, precondition, terraform }: RowOptions): void {
  const found = changeableRow(writing.tx, writing.caller, id);
  precondition(() => rowDocument(found, terraform));
  removeRow(writing, found);
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
