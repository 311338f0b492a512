/** Tokens of organizations and teams; those of users stand in `credentials/user.ts`. */
import { defineTable } from '../../state/table.ts';
import { organizations } from './organization.ts';
import { teams } from './team.ts';

export interface ApiToken {
  /** `at-` and 16 letters or digits. */
  readonly id: string;
  /** For whom it acts: an organization, */
  readonly organizationId?: string;
  /** or a team. */
  readonly teamId?: string;
  /** SHA-256 of the token. */
  readonly secretHash: string;
  /** Null for the one token at the plain path; a team's further tokens differ in theirs. */
  readonly description: string | null;
  /** Who made it: a user's id. Absent where a team or an organization did. */
  readonly createdBy?: string;
  /** RFC 3339. */
  readonly createTime: string;
  /** RFC 3339; absent: never. */
  readonly expirationTime?: string;
}

export const apiTokens = defineTable<ApiToken>()({
  name: 'api-tokens',
  key: (token) => token.id,
  formats: { version: 1 },
  indexes: {
    organization: { entry: (token) => token.organizationId },
    team: { entry: (token) => token.teamId },
    secretHash: { entry: (token) => token.secretHash, unique: true },
  },
  owners: [
    { table: organizations, index: 'organization' },
    { table: teams, index: 'team' },
  ],
  holdsSecrets: true,
  expiresAt: (token) => (token.expirationTime === undefined ? undefined : Date.parse(token.expirationTime)),
});
