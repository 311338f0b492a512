/** Organizations: what everything else of team access belongs to, and goes with. */
import { defineTable } from '../../state/table.ts';

/** What decides whether teams are served at all. */
export type Plan = 'free' | 'standard';

export interface Organization {
  /** `org-` and 16 letters or digits. */
  readonly id: string;
  /** Addresses it in paths; unique without regard to case. */
  readonly name: string;
  readonly email: string;
  readonly plan: Plan;
  /** The team whose members own the organization. */
  readonly ownersTeamId: string;
  readonly defaultProjectId: string;
  /** Settings that clients send and get back; see `organizationSettings`. Only those that were sent. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** RFC 3339. */
  readonly createTime: string;
  /** The user who made it, who may be gone or no owner any more; absent: it counts for nobody. */
  readonly makerId?: string;
}

export const organizations = defineTable<Organization>()({
  name: 'organizations',
  key: (organization) => organization.id,
  formats: { version: 1 },
  indexes: {
    name: { entry: (organization) => nameEntry(organization.name), unique: true },
    maker: { entry: (organization) => organization.makerId },
  },
});

/** A name as it is compared. */
export const nameEntry = (name: string): string => name.toLowerCase();

/** A name within its organization, as it is compared. */
export const nameWithin = (organizationId: string, name: string): string => `${organizationId}/${nameEntry(name)}`;
