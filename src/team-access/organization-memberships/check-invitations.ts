/** How many people an organization may have invited who have not come. */
import { users } from '../../credentials/user.ts';
import type { Transaction } from '../../state/write/transaction.ts';
import { attributeFault, JsonApiError } from '../jsonapi/errors.ts';
import { INVITED_BATCH, INVITED_MAX } from '../limits.ts';
import { memberships } from '../tables/organization-membership.ts';

/**
 * Refuses one more when there are INVITED_MAX: each has made a user. Those who have come since are marked so where it
 * matters, at the bound, some in each commit: whoever takes a user on cannot know of all of their memberships.
 * @throws JsonApiError `invalid-attribute`
 */
export function checkInvitations(tx: Transaction, organizationId: string): void {
  const invited = tx.list(memberships, 'invited', organizationId, { limit: INVITED_MAX });
  if (invited.length < INVITED_MAX) return;
  const come = invited.filter(({ row }) => tx.get(users, row.userId)?.row.unclaimed !== true);
  if (come.length === 0) {
    const detail = `Email is one too many: ${INVITED_MAX} people were invited who have not come; take some out first`;
    throw new JsonApiError([attributeFault('email', detail)]);
  }
  for (const { row } of come.slice(0, INVITED_BATCH)) {
    const { invited: _, ...membership } = row;
    tx.put(memberships, membership);
  }
}
