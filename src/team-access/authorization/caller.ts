/** Authentication: finds the caller of a request by its bearer token. */
import { SECRET_CHARACTERS_MAX } from '../../credentials/limits.ts';
import { hashSecret } from '../../credentials/secret.ts';
import { users, userTokens } from '../../credentials/user.ts';
import type { Call } from '../../http/call.ts';
import type { Reader } from '../../state/memory/reader.ts';
import { JsonApiError } from '../jsonapi/errors.ts';
import { apiTokens } from '../tables/authentication-token.ts';

export type Caller =
  | { readonly kind: 'user'; readonly userId: string; readonly siteAdmin: boolean; readonly tokenId: string }
  | { readonly kind: 'team'; readonly teamId: string; readonly tokenId: string }
  | { readonly kind: 'organization'; readonly organizationId: string; readonly tokenId: string };

const BEARER = /^bearer +(\S+) *$/i;

/** Returns the hash of a request's token, or `undefined` when the request has no token of a valid length. */
export function presentedTokenHash({ request }: Call): string | undefined {
  const token = BEARER.exec(request.headers.authorization ?? '')?.[1];
  return token === undefined || token.length > SECRET_CHARACTERS_MAX ? undefined : hashSecret(token);
}

/** Returns the caller to whom a token belongs, or `undefined` when the token is unknown, expired or revoked. */
export function findCaller(reader: Reader, secretHash: string | undefined): Caller | undefined {
  if (secretHash === undefined) return undefined;
  const userToken = reader.find(userTokens, 'secretHash', secretHash)?.row;
  if (userToken !== undefined) {
    const user = reader.get(users, userToken.userId)?.row;
    if (user === undefined) return undefined;
    return { kind: 'user', userId: user.id, siteAdmin: user.siteAdmin, tokenId: userToken.id };
  }
  const token = reader.find(apiTokens, 'secretHash', secretHash)?.row;
  if (token?.teamId !== undefined) return { kind: 'team', teamId: token.teamId, tokenId: token.id };
  if (token?.organizationId === undefined) return undefined;
  return { kind: 'organization', organizationId: token.organizationId, tokenId: token.id };
}

/** Returns the caller to whom a token belongs. @throws JsonApiError `unauthorized` */
export function authenticate(reader: Reader, secretHash: string | undefined): Caller {
  const caller = findCaller(reader, secretHash);
  if (caller === undefined) throw unauthorized();
  return caller;
}

/** Returns the error of a request without a valid token ([TEAM-35]). */
export const unauthorized = (): JsonApiError =>
  new JsonApiError([{ code: 'unauthorized' }], ['WWW-Authenticate', 'Bearer']);

/** Returns the ID of the user, team or organization, for the audit log and the rate limit. */
export function callerId(caller: Caller): string {
  switch (caller.kind) {
    case 'user':
      return caller.userId;
    case 'team':
      return caller.teamId;
    case 'organization':
      return caller.organizationId;
  }
}
