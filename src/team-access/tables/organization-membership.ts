/** Memberships: the users of each organization. */
import { users } from '../../credentials/user.ts';
import { defineTable } from '../../state/table.ts';
import { organizations } from './organization.ts';

export interface Membership {
  /** `ou-` and 16 letters or digits. */
  readonly id: string;
  readonly organizationId: string;
  readonly userId: string;
  /** RFC 3339. */
  readonly createTime: string;
  /** Whether an invitation created the user. The user may have become active since. */
  readonly invited?: true;
  /** Position within its commit, because lists are in order of creation. */
  readonly place: number;
}

export const memberships = defineTable<Membership>()({
  name: 'organization-memberships',
  key: (membership) => membership.id,
  formats: { version: 1 },
  indexes: {
    organization: { entry: (membership) => membership.organizationId },
    user: { entry: (membership) => membership.userId },
    invited: { entry: ({ invited, organizationId }) => (invited === true ? organizationId : undefined) },
    pair: { entry: ({ organizationId, userId }) => membershipPair(organizationId, userId), unique: true },
  },
  owners: [
    { table: organizations, index: 'organization' },
    { table: users, index: 'user' },
  ],
  countsToward: [{ table: organizations, key: (membership) => membership.organizationId }],
});

/** Returns the index entry for a user's membership of an organization. */
export const membershipPair = (organizationId: string, userId: string): string => `${organizationId}/${userId}`;
