/**
 * Deletes unclaimed users without a membership, because no one uses them [AUTHZ-65]. A user who leaves their last
 * organization is deleted in the same commit. A background job deletes the users of a deleted organization, of which
 * there can be hundreds.
 */
import { type Origin, SYSTEM } from '../../audit/record.ts';
import { UNCLAIMED, type User, users } from '../../credentials/user.ts';
import { type Clock, sleep } from '../../state/clock/clock.ts';
import { nextTurn } from '../../state/clock/next-turn.ts';
import { isStateError } from '../../state/errors.ts';
import type { Job } from '../../state/jobs/placement.ts';
import { JOB_BATCH_ROWS } from '../../state/limits.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { State } from '../../state/state.ts';
import type { DeepReadonly, Stored } from '../../state/table.ts';
import type { Transaction } from '../../state/write/transaction.ts';
import { recordTeamAccessChange } from '../audit.ts';
import type { Invitations } from '../http/request-pipeline.ts';
import { INVITED_INTERVAL_MS } from '../limits.ts';
import { organizations } from '../tables/organization.ts';
import { memberships } from '../tables/organization-membership.ts';
import { makePending } from './pending-users.ts';

interface Removal {
  readonly tx: Transaction;
  readonly origin: Origin;
  /** The organization whose audit trail gets the entry: the last one of the user. */
  readonly organizationId?: string;
}

/** Deletes the user if they are unclaimed and have no membership. */
export function removeUnclaimedUser({ tx, origin, organizationId }: Removal, userId: string): void {
  const user = tx.get(users, userId)?.row;
  if (user?.unclaimed !== true || !hasNoMembership(tx, userId)) return;
  tx.delete(users, userId);
  recordTeamAccessChange(tx, origin, {
    ...(organizationId !== undefined && { organizationId }),
    action: 'destroy',
    type: 'users',
    subject: userId,
    before: user,
    after: null,
  });
}

const hasNoMembership = (reader: Reader, userId: string): boolean =>
  reader.list(memberships, 'user', userId, { limit: 1 }).length === 0;

/**
 * The background job. It examines all unclaimed users after every change of organizations or memberships. If members
 * join by accepting, it also makes pending users of the unclaimed users from before [AUTHZ-101].
 */
export function unclaimedUsersJob(state: State, clock: Clock, invitations: Invitations): Job {
  return {
    name: 'invited users',
    async run(signal) {
      let examined: readonly unknown[] = [];
      while (!signal.aborted) {
        const { tables } = state.snapshot;
        const current = [tables.get(organizations), tables.get(memberships)];
        if (current.some((table, i) => table !== examined[i])) await examineAll(state, invitations, signal);
        examined = current;
        await sleep(clock, INVITED_INTERVAL_MS, signal);
      }
    },
  };
}

async function examineAll(state: State, invitations: Invitations, signal: AbortSignal): Promise<void> {
  let limit = JOB_BATCH_ROWS;
  for (let after = ''; !signal.aborted; await nextTurn()) {
    const { snapshot } = state;
    const page = snapshot.list(users, 'unclaimed', UNCLAIMED, { after, limit });
    const joinsByClaim = (user: DeepReadonly<User>) => invitations === 'accept' && user.invitation === undefined;
    const candidates = page.filter(({ row }) => hasNoMembership(snapshot, row.id) || joinsByClaim(row));
    try {
      if (candidates.length > 0) await state.write((tx) => changeEach(tx, candidates, joinsByClaim), { signal });
    } catch (error) {
      // The store does not report how many deletions fit into one commit.
      if (!isStateError(error, 'too-large') || limit === 1) throw error;
      limit = Math.ceil(limit / 2);
      continue;
    }
    const last = page.at(-1);
    if (last === undefined || page.length < limit) return;
    after = last.row.id;
  }
}

/** Deletes users who still have no membership, and makes pending users of those that `joinsByClaim` selects. */
function changeEach(
  tx: Transaction,
  found: readonly Stored<User>[],
  joinsByClaim: (user: DeepReadonly<User>) => boolean,
): void {
  for (const { row } of found) {
    removeUnclaimedUser({ tx, origin: SYSTEM }, row.id);
    const user = tx.get(users, row.id)?.row;
    if (user?.unclaimed === true && joinsByClaim(user)) makePending({ tx, origin: SYSTEM }, user);
  }
}
