/** When a token was last used, apart from the token: it changes often, and is no change of what the token may do. */
import { userTokens } from '../../credentials/user.ts';
import { defineTable } from '../../state/table.ts';
import { apiTokens } from './authentication-token.ts';

export interface TokenUse {
  readonly tokenId: string;
  /** In which table the token is. */
  readonly of: 'user' | 'api';
  /** RFC 3339; at most `TOKEN_USE_MS` behind. */
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
