/** Removes rows whose time is over. They stopped existing for readers at that very time; here they leave the store. */
import { SYSTEM } from '../../audit/record.ts';
import type { Clock } from '../../state/clock/clock.ts';
import { expiryJob } from '../../state/jobs/expiry.ts';
import type { Job } from '../../state/jobs/placement.ts';
import type { State } from '../../state/state.ts';
import type { Stored } from '../../state/table.ts';
import type { Transaction } from '../../state/write/transaction.ts';
import { type TeamWorkspace, teamWorkspaces } from '../tables/team-workspace.ts';
import { workspaces } from '../tables/workspace.ts';
import { recordRow } from './record-row.ts';

/** The job that removes them. */
export const rowExpiryJob = (state: State, clock: Clock): Job => expiryJob(state, teamWorkspaces, clock, recordExpired);

/**
 * Removes up to `limit` of them in this commit: a new row that takes the place of one would drop it without an entry in
 * the audit log.
 */
export function expireRows(tx: Transaction, limit: number): void {
  for (const stored of tx.expire(teamWorkspaces, limit)) recordExpired(tx, stored);
}

/** What went with its workspace was recorded then. */
function recordExpired(tx: Transaction, { row }: Stored<TeamWorkspace>): void {
  const workspace = tx.get(workspaces, row.workspaceId)?.row;
  if (workspace === undefined) return;
  recordRow(tx, SYSTEM, workspace.organizationId, 'expire', { before: row });
}
