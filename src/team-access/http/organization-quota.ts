/** The number of organizations that one user creates [AUTHZ-54]. */
import type { Measured } from '../../budget/measured.ts';
import { users } from '../../credentials/user.ts';
import type { Transaction } from '../../state/write/transaction.ts';
import { JsonApiError } from '../jsonapi/errors.ts';
import { organizations } from '../tables/organization.ts';

/** Its metrics have no amount in use, because that would require counting the organizations of every user. */
export interface OrganizationQuota extends Measured {
  /**
   * Rejects one more organization of a user at the quota. Organizations that the user has left still count, because
   * otherwise a user could avoid the quota by leaving. Site administrators have no quota.
   * @throws JsonApiError `invalid-attribute`
   */
  check(tx: Transaction, userId: string): void;
}

/** @param max `limits.organizations-per-user` */
export function createOrganizationQuota(max: number): OrganizationQuota {
  const refused = new Map([['user', 0]]);
  const countRefusal = (): void => void refused.set('user', (refused.get('user') ?? 0) + 1);
  return {
    name: 'organizations',
    refused,
    measure: () => [{ bound: 'user', max }],
    check(tx, userId) {
      if (tx.get(users, userId)?.row.siteAdmin) return;
      if (tx.list(organizations, 'maker', userId, { limit: max }).length < max) return;
      tx.memoizeAcrossRetries(countRefusal);
      const detail = `you have created ${max} organizations, which is limits.organizations-per-user: delete one of them first`;
      throw new JsonApiError([{ code: 'invalid-attribute', detail }]);
    },
  };
}
