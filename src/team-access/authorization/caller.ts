/** Who is calling, as a value, from the bearer token and one picture of the state. */

import { hashSecret } from '../../credentials/secret.ts';
import { users, userTokens } from '../../credentials/user.ts';
import type { Call } from '../../http/call.ts';
import type { Reader } from '../../state/memory/reader.ts';
import { JsonApiError } from '../jsonapi/errors.ts';
import { TOKEN_CHARACTERS_MAX } from '../limits.ts';
import { apiTokens } from '../tables/authentication-token.ts';

/** A user; or a team or an organization, whose token acts for it. */
export type Caller =
  | { readonly kind: 'user'; readonly userId: string; readonly siteAdmin: boolean; readonly tokenId: string }
  | { readonly kind: 'team'; readonly teamId: string; readonly tokenId: string }
  | { readonly kind: 'organization'; readonly organizationId: string; readonly tokenId: string };

const BEARER = /^bearer +(\S+) *$/i;

/** The hash of the token that a request presents; `undefined` when it presents none that could be one. */
export function presentedHash({ request }: Call): string | undefined {
  const token = BEARER.exec(request.headers.authorization ?? '')?.[1];
  return token === undefined || token.length > TOKEN_CHARACTERS_MAX ? undefined : hashSecret(token);
}

/** The caller behind a token; `undefined` for one that is unknown, has expired or was revoked. */
export function callerOf(reader: Reader, secretHash: string | undefined): Caller | undefined {
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

/** Likewise. @throws JsonApiError `unauthorized` */
export function authenticate(reader: Reader, secretHash: string | undefined): Caller {
  const caller = callerOf(reader, secretHash);
  if (caller === undefined) throw unauthorized();
  return caller;
}

/** The refusal of who presents no token that is good. */
export const unauthorized = (): JsonApiError =>
  new JsonApiError([{ code: 'unauthorized' }], ['WWW-Authenticate', 'Bearer']);

/** Names the caller: for the audit log, and to count requests. */
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
