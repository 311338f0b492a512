/** Organizations: the owners of all other rows of team access except users. */
import { users } from '../../credentials/user.ts';
import { defineTable } from '../../state/table.ts';

/** The plan. Only `standard` includes team management. */
export type Plan = 'free' | 'standard';

export interface Organization {
  /** `org-` and 16 letters or digits. */
  readonly id: string;
  /** Unique without regard to case. Paths contain it. */
  readonly name: string;
  readonly email: string;
  readonly plan: Plan;
  readonly ownersTeamId: string;
  readonly defaultProjectId: string;
  /** The settings that clients have sent; see `organizationSettings`. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** RFC 3339. */
  readonly createTime: string;
  /** User who created it, for their quota. They may be deleted or no longer an owner. Absent when no quota applies. */
  readonly makerId?: string;
}

export const organizations = defineTable<Organization>()({
  name: 'organizations',
  key: (organization) => organization.id,
  formats: { version: 1 },
  indexes: {
    name: { entry: (organization) => normalizeName(organization.name), unique: true },
    maker: { entry: (organization) => organization.makerId },
  },
  countsToward: [{ table: users, key: (organization) => organization.makerId }],
});

/** The setting with which an organization refuses the tokens of users when it is false [AUTHZ-93]. */
export const USER_TOKENS_ENABLED = 'user-tokens-enabled';

export const acceptsUserTokens = ({ settings }: Pick<Organization, 'settings'>): boolean =>
  settings[USER_TOKENS_ENABLED] !== false;

/** Returns a name in the form in which names are compared. */
export const normalizeName = (name: string): string => name.toLowerCase();

/** Returns the index entry for a name that is unique within its organization. */
export const nameInOrganization = (organizationId: string, name: string): string =>
  `${organizationId}/${normalizeName(name)}`;
