/**
 * Removes users whom an invitation has made, once they are in no organization: nobody has been them, and nobody else
 * could remove them. Who leaves an organization goes in that commit; those of a deleted organization, hundreds perhaps,
 * go behind the requests.
 */
import { type Origin, SYSTEM } from '../../audit/record.ts';
import { UNCLAIMED, type User, users } from '../../credentials/user.ts';
import { type Clock, sleep } from '../../state/clock/clock.ts';
import { nextTurn } from '../../state/clock/next-turn.ts';
import { isStateError } from '../../state/errors.ts';
import type { Job } from '../../state/jobs/placement.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { State } from '../../state/state.ts';
import type { Stored } from '../../state/table.ts';
import type { Transaction } from '../../state/write/transaction.ts';
import { recordTeamAccess } from '../audit/record-change.ts';
import { INVITED_BATCH, INVITED_PAUSE_MS } from '../limits.ts';
import { organizations } from '../tables/organization.ts';
import { memberships } from '../tables/organization-membership.ts';

/** Where a change is made, and for whom. */
interface Forgetting {
  readonly tx: Transaction;
  readonly origin: Origin;
  /** In whose audit trail it stands: that which the user was last in. */
  readonly organizationId?: string;
}

/** Removes that user, if they are one of these. */
export function forgetInvited({ tx, origin, organizationId }: Forgetting, userId: string): void {
  const user = tx.get(users, userId)?.row;
  if (user?.unclaimed !== true || !isNowhere(tx, userId)) return;
  tx.delete(users, userId);
  recordTeamAccess(tx, origin, {
    ...(organizationId !== undefined && { organizationId }),
    action: 'destroy',
    type: 'users',
    subject: userId,
    before: user,
    after: null,
  });
}

const isNowhere = (reader: Reader, userId: string): boolean =>
  reader.list(memberships, 'user', userId, { limit: 1 }).length === 0;

/** The job that removes them: it looks at all of them after organizations or memberships have changed. */
export function forgetInvitedJob(state: State, clock: Clock): Job {
  return {
    name: 'invited users',
    async run(signal) {
      let done: readonly unknown[] = [];
      while (!signal.aborted) {
        const { trees } = state.snapshot;
        const current = [trees.get(organizations), trees.get(memberships)];
        if (current.some((table, i) => table !== done[i])) await forgetAll(state, signal);
        done = current;
        await sleep(clock, INVITED_PAUSE_MS, signal);
      }
    },
  };
}

async function forgetAll(state: State, signal: AbortSignal): Promise<void> {
  let limit = INVITED_BATCH;
  for (let after = ''; !signal.aborted; await nextTurn()) {
    const { snapshot } = state;
    const page = snapshot.list(users, 'unclaimed', UNCLAIMED, { after, limit });
    const gone = page.filter(({ row }) => isNowhere(snapshot, row.id));
    try {
      if (gone.length > 0) await state.write((tx) => forgetEach(tx, gone), { signal });
    } catch (error) {
      // How little the store may take in one commit is not known here.
      if (!isStateError(error, 'too-large') || limit === 1) throw error;
      limit = Math.ceil(limit / 2);
      continue;
    }
    const last = page.at(-1);
    if (last === undefined || page.length < limit) return;
    after = last.row.id;
  }
}

/** Somebody may have taken them in again meanwhile. */
function forgetEach(tx: Transaction, gone: readonly Stored<User>[]): void {
  for (const { row } of gone) forgetInvited({ tx, origin: SYSTEM }, row.id);
}
