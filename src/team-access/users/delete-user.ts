/** `DELETE /admin/users/:id`: somebody who has left, or whose token is lost. */
import { SITE_ADMIN, users } from '../../credentials/user.ts';
import { recordTeamAccess } from '../audit/record-change.ts';
import { checkOwnerLeft, isOwner, organizationsOf } from '../authorization/owners.ts';
import { showUser } from '../documents/user-to-json.ts';
import type { Writing } from '../http/request-pipeline.ts';
import type { Precondition } from '../jsonapi/documents.ts';
import { JsonApiError, notFound } from '../jsonapi/errors.ts';
import { checkSiteAdmin, isSelf } from './find-user.ts';

/** A user who is deleted, and in which state. */
export interface NamedUser {
  readonly id: string;
  readonly precondition: Precondition;
}

/**
 * Memberships, places in teams and tokens go in the same commit. The audit log has one entry: a user can be in any number
 * of organizations.
 * @throws JsonApiError `not-found`; `forbidden` for the last owner of an organization and the last site administrator
 */
export function deleteUser({ tx, caller, origin }: Writing, { id, precondition }: NamedUser): void {
  checkSiteAdmin(caller);
  const user = tx.get(users, id)?.row;
  if (user === undefined) throw notFound();
  if (user.siteAdmin && tx.list(users, 'siteAdmin', SITE_ADMIN, { limit: 2 }).length === 1) {
    throw new JsonApiError([{ code: 'forbidden', detail: 'the last site administrator cannot go' }]);
  }
  for (const organization of organizationsOf(tx, id)) {
    if (isOwner(tx, organization, id)) checkOwnerLeft(tx, organization, id);
  }
  precondition(() => ({ data: showUser(user, isSelf(caller, id)) }));
  tx.delete(users, id);
  recordTeamAccess(tx, origin, { action: 'destroy', type: 'users', subject: id, before: user, after: null });
}
