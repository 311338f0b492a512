/** The tables of users and their tokens, which the first start writes. Their endpoints are in team-access/. */
import { type DeepReadonly, defineTable } from '../state/table.ts';

/** The invitation of a pending user, which the person with the email address can accept [AUTHZ-95]. */
export interface Invitation {
  /** Empty: the pending user was an unclaimed user, whom any number of organizations can have added [AUTHZ-101]. */
  readonly organizationId: string;
  readonly email: string;
}

export interface User {
  /** `user-` and 16 letters or digits. */
  readonly id: string;
  readonly username: string;
  /** Empty if the user has none, and for pending users. */
  readonly email: string;
  readonly siteAdmin: boolean;
  readonly createTime: string;
  /** When a token of the user was first used. Absent: no token has been used yet. */
  readonly activeTime?: string;
  /** RFC 3339. Present while the user is suspended: the server refuses their tokens [AUTHZ-87]. */
  readonly suspendedTime?: string;
  /** Present on a user that an invitation created from an email address and that has no token yet [AUTHZ-59]. */
  readonly unclaimed?: true;
  /**
   * Present on a *pending user*: an unclaimed user that stands for an email address in a membership until the person
   * accepts, whether or not they have an account [AUTHZ-95]. It cannot be claimed.
   */
  readonly invitation?: Invitation;
}

/** Returns the email address that documents show: that of the user, or of the invitation. */
export const addressOf = ({ email, invitation }: DeepReadonly<User>): string => invitation?.email ?? email;

/** The only entry of the index `siteAdmin`, and of the index `unclaimed`. */
export const SITE_ADMIN = 'site-admin';
export const UNCLAIMED = 'unclaimed';

export const users = defineTable<User>()({
  name: 'users',
  key: (user) => user.id,
  formats: { version: 1 },
  indexes: {
    username: { entry: (user) => user.username.toLowerCase(), unique: true },
    email: { entry: (user) => (user.email === '' ? undefined : user.email.toLowerCase()), unique: true },
    siteAdmin: { entry: (user) => (user.siteAdmin ? SITE_ADMIN : undefined) },
    unclaimed: { entry: (user) => (user.unclaimed === true ? UNCLAIMED : undefined) },
    invitation: { entry: ({ invitation }) => invitation && invitationKey(invitation) },
    invitedEmail: { entry: ({ invitation }) => invitation?.email.toLowerCase() },
  },
});

/**
 * Returns the index entry for the pending user of an email address. There can be several that were unclaimed users,
 * because an older version of the server creates unclaimed users without regard to pending ones.
 */
export const invitationKey = ({ organizationId, email }: Invitation): string =>
  `${organizationId}/${email.toLowerCase()}`;

export interface UserToken {
  /** `at-` and 16 letters or digits. */
  readonly id: string;
  readonly userId: string;
  readonly secretHash: string;
  readonly description: string;
  readonly createTime: string;
  /** RFC 3339. Absent: the token does not expire. */
  readonly expirationTime?: string;
}

export const userTokens = defineTable<UserToken>()({
  name: 'user-tokens',
  key: (token) => token.id,
  formats: { version: 1 },
  indexes: {
    user: { entry: (token) => token.userId, watched: true },
    secretHash: { entry: (token) => token.secretHash, unique: true },
  },
  owners: [{ table: users, index: 'user' }],
  countsToward: [{ table: users, key: (token) => token.userId }],
  holdsSecrets: true,
  expiresAt: (token) => (token.expirationTime === undefined ? undefined : Date.parse(token.expirationTime)),
});
