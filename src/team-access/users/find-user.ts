/** Finds users for those to whom they exist. */
import { type User, users } from '../../credentials/user.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { DeepReadonly } from '../../state/table.ts';
import type { Caller } from '../authorization/caller.ts';
import { organizationIds } from '../authorization/organizations-of-caller.ts';
import { notFound } from '../jsonapi/errors.ts';
import { membershipPair, memberships } from '../tables/organization-membership.ts';

/** @throws JsonApiError `not-found` for everybody else */
export function checkSiteAdmin(caller: Caller): void {
  if (!isSiteAdmin(caller)) throw notFound();
}

const isSiteAdmin = (caller: Caller): boolean => caller.kind === 'user' && caller.siteAdmin;

/** Whether a user asks about themself. */
export const isSelf = (caller: Caller, userId: string): boolean => caller.kind === 'user' && caller.userId === userId;

/**
 * The user with that id, for themself, for site administrators, and for who is in an organization with them: the look-ups
 * for a stranger are those for nobody.
 * @throws JsonApiError `not-found`
 */
export function userById(reader: Reader, caller: Caller, id: string): DeepReadonly<User> {
  const user = reader.get(users, id)?.row;
  const isMember = (organizationId: string): boolean =>
    reader.find(memberships, 'pair', membershipPair(organizationId, id)) !== undefined;
  const known = isSelf(caller, id) || isSiteAdmin(caller) || organizationIds(reader, caller).some(isMember);
  if (user === undefined || !known) throw notFound();
  return user;
}
