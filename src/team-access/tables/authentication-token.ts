/** Tokens of organizations and teams, and the last use of every token. `credentials/user.ts` declares user tokens. */
import { userTokens } from '../../credentials/user.ts';
import { defineTable } from '../../state/table.ts';
import { organizations } from './organization.ts';
import { teams } from './team.ts';

export interface ApiToken {
  /** `at-` and 16 letters or digits. */
  readonly id: string;
  /** Present if the token acts for an organization. Otherwise `teamId` is present. */
  readonly organizationId?: string;
  readonly teamId?: string;
  /** SHA-256 of the token. */
  readonly secretHash: string;
  /** Null for the token at the path `authentication-token`. A team's other tokens have distinct descriptions. */
  readonly description: string | null;
  /** ID of the user who created it. The user may be deleted. Absent when a team or an organization did. */
  readonly createdBy?: string;
  /** RFC 3339. */
  readonly createTime: string;
  /** RFC 3339. Absent when it does not expire. */
  readonly expirationTime?: string;
}

export const apiTokens = defineTable<ApiToken>()({
  name: 'api-tokens',
  key: (token) => token.id,
  formats: { version: 1 },
  indexes: {
    organization: { entry: (token) => token.organizationId },
    team: { entry: (token) => token.teamId },
    createdBy: { entry: (token) => token.createdBy },
    secretHash: { entry: (token) => token.secretHash, unique: true },
  },
  owners: [
    { table: organizations, index: 'organization' },
    { table: teams, index: 'team' },
  ],
  countsToward: [
    { table: organizations, key: (token) => token.organizationId },
    { table: teams, key: (token) => token.teamId },
  ],
  holdsSecrets: true,
  expiresAt: (token) => (token.expirationTime === undefined ? undefined : Date.parse(token.expirationTime)),
});

/** The last use of a token. A separate table, because it changes often and does not change what the token permits. */
export interface TokenUse {
  readonly tokenId: string;
  /** Kind of table that contains the token. */
  readonly of: 'user' | 'api';
  /** RFC 3339. The actual last use may be up to `TOKEN_USE_INTERVAL_MS` later. */
  readonly lastTime: string;
}

export const tokenUses = defineTable<TokenUse>()({
  name: 'token-uses',
  key: (use) => use.tokenId,
  formats: { version: 1 },
  indexes: {
    userToken: { entry: (use) => (use.of === 'user' ? use.tokenId : undefined) },
    apiToken: { entry: (use) => (use.of === 'api' ? use.tokenId : undefined) },
  },
  owners: [
    { table: userTokens, index: 'userToken' },
    { table: apiTokens, index: 'apiToken' },
  ],
});
