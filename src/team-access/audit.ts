/** Writes changes of team access to the audit log, in the commit that makes them. */
import { type Origin, recordChange } from '../audit/record.ts';
import type { Transaction } from '../state/transaction.ts';

export interface TeamAccessChange {
  /** The organization in whose audit trail it stands; absent for users. */
  readonly organizationId?: string;
  /** Such as `create`, `update`, `destroy`, `add_team`. */
  readonly action: string;
  /** The JSON:API type of what changed. */
  readonly type: string;
  readonly subject: string;
  /** As it is kept or shown, without secrets; null where it did not exist. */
  readonly before: unknown;
  readonly after: unknown;
}

/** Team access has no partitions: only who may read those of all is shown its entries at `/v1/audit`. */
const NO_PARTITION = '';

/** Adds an entry to the commit of `tx`. */
export function recordTeamAccess(tx: Transaction, origin: Origin, change: TeamAccessChange): void {
  recordChange(tx, origin, { ...change, partition: NO_PARTITION });
}
