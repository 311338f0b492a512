/** Finds users for callers who may see them [AUTHZ-71]. */
import { type User, users } from '../../credentials/user.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { DeepReadonly } from '../../state/table.ts';
import type { Caller } from '../authorization/caller.ts';
import { organizationIds } from '../authorization/find-visible.ts';
import { isSiteAdmin } from '../authorization/site-admin.ts';
import type { UserViewer } from '../documents/user-to-json.ts';
import { notFound } from '../jsonapi/errors.ts';
import { membershipPair, memberships } from '../tables/organization-membership.ts';

/** Returns how a caller sees a user. */
export const viewerOf = (caller: Caller, userId: string): UserViewer => ({
  self: isSelf(caller, userId),
  siteAdmin: isSiteAdmin(caller),
});

const isSelf = (caller: Caller, userId: string): boolean => caller.kind === 'user' && caller.userId === userId;

/**
 * Returns a user to themselves, to site administrators, and to callers with a role in one of their organizations. A
 * hidden and a missing user cost the same lookups [AUTHZ-13].
 * @throws JsonApiError `not-found`
 */
export function userById(reader: Reader, caller: Caller, id: string): DeepReadonly<User> {
  const user = reader.get(users, id)?.row;
  const isMember = (organizationId: string): boolean =>
    reader.find(memberships, 'pair', membershipPair(organizationId, id)) !== undefined;
  const isVisible = isSelf(caller, id) || isSiteAdmin(caller) || organizationIds(reader, caller).some(isMember);
  if (user === undefined || !isVisible) throw notFound();
  return user;
}
