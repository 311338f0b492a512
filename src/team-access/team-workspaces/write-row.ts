/**
 * Writes rows of `team-workspaces` together with their audit entries [TEAM-98]. Callers have authorized and checked the
 * change. Rows that have expired are deleted here too.
 */
import { isDeepStrictEqual } from 'node:util';
import { type Origin, SYSTEM } from '../../audit/record.ts';
import { newId } from '../../credentials/secret.ts';
import type { Clock } from '../../state/clock/clock.ts';
import { expiryJob } from '../../state/jobs/expiry.ts';
import type { Job } from '../../state/jobs/placement.ts';
import type { State } from '../../state/state.ts';
import type { DeepReadonly, Stored } from '../../state/table.ts';
import type { Transaction } from '../../state/write/transaction.ts';
import { recordTeamAccessChange } from '../audit/record-change.ts';
import type { FoundWorkspace } from '../authorization/find-visible.ts';
import { accessToJson, TEAM_WORKSPACES } from '../documents/team-workspace-to-json.ts';
import type { WriteContext } from '../http/request-pipeline.ts';
import { EXPIRED_BATCH } from '../limits.ts';
import { type TeamWorkspace, teamWorkspaces } from '../tables/team-workspace.ts';
import { workspaces } from '../tables/workspace.ts';
import type { FoundRow } from './find-rows.ts';
import type { NewAccess } from './read-access.ts';

type Row = DeepReadonly<TeamWorkspace>;
type RowWrite = Pick<WriteContext, 'tx' | 'origin'>;

/** Adds the row of a team that has none on the workspace. */
export function addRow({ tx, origin }: RowWrite, found: FoundWorkspace, teamId: string, values: NewAccess): FoundRow {
  // The new row could replace an expired row of the same pair, which would then have no audit entry [TEAM-59].
  for (const expired of tx.deleteExpired(teamWorkspaces, EXPIRED_BATCH)) recordExpired(tx, expired);
  const id = tx.memoizeAcrossRetries(() => newId('tws'));
  const row = buildRow({ id, teamId, workspaceId: found.workspace.id, place: tx.position }, values);
  tx.put(teamWorkspaces, row);
  recordRow(tx, origin, found.role.organization.id, 'add_team', { after: row });
  return { ...found, row };
}

/** Updates a row. Returns `found` itself and writes nothing if the row already has these values [TEAM-15]. */
export function changeRow({ tx, origin }: RowWrite, found: FoundRow, values: NewAccess): FoundRow {
  const before = found.row;
  const row = buildRow(before, values);
  if (isDeepStrictEqual(row, before)) return found;
  tx.put(teamWorkspaces, row);
  recordRow(tx, origin, found.role.organization.id, 'update_team_permissions', { before, after: row });
  return { ...found, row };
}

export function removeRow({ tx, origin }: RowWrite, { row, role }: FoundRow): void {
  tx.delete(teamWorkspaces, row.id);
  recordRow(tx, origin, role.organization.id, 'remove_team', { before: row });
}

/** The background job that deletes expired rows [TEAM-59]. Readers have not seen them since they expired. */
export const rowExpiryJob = (state: State, clock: Clock): Job => expiryJob(state, teamWorkspaces, clock, recordExpired);

function recordExpired(tx: Transaction, { row }: Stored<TeamWorkspace>): void {
  const workspace = tx.get(workspaces, row.workspaceId)?.row;
  // The deletion of the workspace has an entry, which covers its rows [TEAM-103].
  if (workspace === undefined) return;
  recordRow(tx, SYSTEM, workspace.organizationId, 'expire', { before: row });
}

const buildRow = (
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

/** Adds an audit entry for a row of the organization. At least one of `before` and `after` is present. */
function recordRow(
  tx: Transaction,
  origin: Origin,
  organizationId: string,
  action: 'add_team' | 'update_team_permissions' | 'remove_team' | 'expire',
  { before, after }: { readonly before?: Row; readonly after?: Row },
): void {
  recordTeamAccessChange(tx, origin, {
    organizationId,
    action,
    type: TEAM_WORKSPACES,
    subject: (after ?? before)?.id ?? '',
    before: before === undefined ? null : auditedRow(before),
    after: after === undefined ? null : auditedRow(after),
  });
}

/** Returns a row with the attribute names of `compat = terraform`, whatever the setting is now [TEAM-102]. */
const auditedRow = (row: Row) => ({
  team: row.teamId,
  workspace: row.workspaceId,
  permissions: accessToJson(row, true),
});
