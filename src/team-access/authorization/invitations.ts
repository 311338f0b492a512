/**
 * Finds invitations that await acceptance [AUTHZ-95]. Such a membership belongs to a pending user, which has the email
 * address of the invitation and no reference to an account. The person is found by the address of their account.
 */
import { invitationKey, type User, users } from '../../credentials/user.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { DeepReadonly, Stored } from '../../state/table.ts';
import { JsonApiError } from '../jsonapi/errors.ts';
import { INVITATION_TEAMS_MAX } from '../limits.ts';
import { type Membership, membershipPair, memberships } from '../tables/organization-membership.ts';

/** The organization of a pending user that was an unclaimed user, see `Invitation`. */
export const ANY_ORGANIZATION = '';

/** Returns the pending users of an email address in an organization, or those that were unclaimed users. */
export const findPendingUsers = (
  reader: Reader,
  organizationId: string,
  email: string,
): readonly DeepReadonly<User>[] =>
  reader.list(users, 'invitation', invitationKey({ organizationId, email })).map(({ row }) => row);

/** Returns the invitation of an email address that awaits acceptance in an organization. */
export function pendingMembership(
  reader: Reader,
  organizationId: string,
  email: string,
): DeepReadonly<Membership> | undefined {
  const pending = [organizationId, ANY_ORGANIZATION].flatMap((of) => findPendingUsers(reader, of, email));
  return pending
    .map(({ id }) => reader.find(memberships, 'pair', membershipPair(organizationId, id))?.row)
    .find((membership) => membership !== undefined);
}

/** Returns all invitations of a user that await acceptance. */
export function pendingMembershipsOf(reader: Reader, { email }: DeepReadonly<User>): readonly Stored<Membership>[] {
  if (email === '') return [];
  return reader
    .list(users, 'invitedEmail', email.toLowerCase())
    .flatMap(({ row }) => reader.list(memberships, 'user', row.id));
}

/** Whether a membership is an invitation of the user that awaits acceptance. A missing one costs the same lookups. */
export function isInvitationOf(
  reader: Reader,
  userId: string,
  membership: DeepReadonly<Membership> | undefined,
): boolean {
  const email = reader.get(users, userId)?.row.email ?? '';
  const invitation = reader.get(users, membership?.userId ?? '')?.row.invitation;
  return email !== '' && invitation?.email.toLowerCase() === email.toLowerCase();
}

/**
 * Rejects an invitation to more teams than accepting it can add in one commit [AUTHZ-95].
 * @throws JsonApiError `invalid-attribute`
 */
export function checkInvitationTeams(count: number, pointer: string): void {
  if (count <= INVITATION_TEAMS_MAX) return;
  const detail =
    `Teams exceeds the limit of ${INVITATION_TEAMS_MAX} teams of a member who has not accepted the invitation: ` +
    'add the member to the others afterwards';
  throw new JsonApiError([{ code: 'invalid-attribute', detail, pointer }]);
}
