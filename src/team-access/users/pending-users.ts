/** Creates pending users, the users of invitations that await acceptance [AUTHZ-95]. */
import { newId } from '../../credentials/ids-and-secrets.ts';
import { type Invitation, type User, users } from '../../credentials/user.ts';
import type { DeepReadonly } from '../../state/table.ts';
import { recordTeamAccessChange } from '../audit.ts';
import { ANY_ORGANIZATION } from '../authorization/invitations.ts';
import type { WriteContext } from '../http/request-pipeline.ts';

type AuditedWrite = Pick<WriteContext, 'tx' | 'origin'>;

/** Creates a pending user. Its username is its ID, because a name derived from the address could reveal taken names. */
export function createPendingUser({ tx, origin }: AuditedWrite, invitation: Invitation): User {
  const id = tx.memoizeAcrossRetries(() => newId('user'));
  const createTime = new Date(tx.now).toISOString();
  const user: User = { id, username: id, email: '', siteAdmin: false, createTime, unclaimed: true, invitation };
  tx.put(users, user);
  const change = { action: 'create', type: 'users', subject: id, before: null, after: user };
  recordTeamAccessChange(tx, origin, { organizationId: invitation.organizationId, ...change });
  return user;
}

/**
 * Makes an unclaimed user the pending user of their own memberships [AUTHZ-101], so that the person joins by accepting.
 * The email address becomes free, and the username too, unless another user has the ID as the username.
 */
export function makePending({ tx, origin }: AuditedWrite, before: DeepReadonly<User>): void {
  const { id, email } = before;
  const invitation = { organizationId: ANY_ORGANIZATION, email };
  // An earlier invitation can have named an address whose local part is this ID.
  const isFree = tx.find(users, 'username', id.toLowerCase()) === undefined;
  const after: User = { ...before, username: isFree ? id : before.username, email: '', invitation };
  tx.put(users, after);
  recordTeamAccessChange(tx, origin, { action: 'update', type: 'users', subject: id, before, after });
}
