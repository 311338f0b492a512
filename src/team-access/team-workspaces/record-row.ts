/** Writes changes of rows to the audit log, in the commit that makes them. */
import type { Origin } from '../../audit/record.ts';
import type { DeepReadonly } from '../../state/table.ts';
import type { Transaction } from '../../state/write/transaction.ts';
import { recordTeamAccess } from '../audit/record-change.ts';
import { shownPermissions, TEAM_WORKSPACES } from '../documents/team-workspace-to-json.ts';
import type { TeamWorkspace } from '../tables/team-workspace.ts';

type Row = DeepReadonly<TeamWorkspace>;

/** What becomes of a row, as the audit log calls it; `expire` is what happens by itself. */
export type RowAction = 'add_team' | 'update_team_permissions' | 'remove_team' | 'expire';

/** Adds an entry for a row of the organization; at least one of `before` and `after` is there. */
export function recordRow(
  tx: Transaction,
  origin: Origin,
  organizationId: string,
  action: RowAction,
  { before, after }: { readonly before?: Row; readonly after?: Row },
): void {
  recordTeamAccess(tx, origin, {
    organizationId,
    action,
    type: TEAM_WORKSPACES,
    subject: (after ?? before)?.id ?? '',
    before: before === undefined ? null : recorded(before),
    after: after === undefined ? null : recorded(after),
  });
}

/** With every name that any client has for an attribute: settings may change, the log stays. */
const recorded = (row: Row) => ({
  team: row.teamId,
  workspace: row.workspaceId,
  permissions: shownPermissions(row, true),
});
