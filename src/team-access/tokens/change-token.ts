/** Makes and revokes tokens of users, teams and organizations. Who may is decided before. */

import { Type } from 'typebox';
import { parseTime } from '../../credentials/parse-time.ts';
import { hashSecret, newApiToken, newId } from '../../credentials/secret.ts';
import { type UserToken, userTokens } from '../../credentials/user.ts';
import type { Reader } from '../../state/memory/reader.ts';
import { recordTeamAccess } from '../audit/record-change.ts';
import type { AnyToken } from '../documents/authentication-token-to-json.ts';
import type { Writing } from '../http/request-pipeline.ts';
import { attributeFault, type Fault, throwFaults } from '../jsonapi/errors.ts';
import { type Given, given, readText } from '../jsonapi/read-attributes.ts';
import { bodyOf } from '../jsonapi/schemas.ts';
import { type ApiToken, apiTokens } from '../tables/authentication-token.ts';
import { teams } from '../tables/team.ts';

export const newTokenSchema = bodyOf('authentication-tokens', {
  attributes: {
    description: Type.String(),
    'expired-at': Type.Union([Type.String(), Type.Null()], { description: 'RFC 3339; null: never.' }),
  },
});

/** Whose token it is; a team's plain one, or one of several with descriptions. */
export type TokenOwner =
  | { readonly kind: 'user'; readonly userId: string }
  | { readonly kind: 'team'; readonly teamId: string; readonly organizationId: string; readonly plain: boolean }
  | { readonly kind: 'organization'; readonly organizationId: string };

/** A new token with its secret, which nobody is told again. */
export interface MadeToken {
  readonly token: AnyToken;
  readonly secret: string;
}

/** The plain token of a team or an organization takes the place of the one before. @throws JsonApiError `invalid-attribute` */
export function createToken(writing: Writing, owner: TokenOwner, attributes: Given): MadeToken {
  const { tx, caller } = writing;
  const { description, expirationTime } = readTokenBody(writing, owner, attributes);
  const secret = tx.once(() => newApiToken());
  const made = {
    id: tx.once(() => newId('at')),
    secretHash: hashSecret(secret),
    createTime: new Date(tx.now).toISOString(),
    ...(expirationTime !== undefined && { expirationTime }),
  };
  if (owner.kind === 'user') {
    const token: UserToken = { ...made, userId: owner.userId, description: description ?? '' };
    tx.put(userTokens, token);
    recordToken(writing, { token, before: false });
    return { token, secret };
  }
  const previous = plainToken(tx, owner);
  if (previous !== undefined) deleteToken(writing, previous);
  const token: ApiToken = {
    ...made,
    ...(owner.kind === 'team' ? { teamId: owner.teamId } : { organizationId: owner.organizationId }),
    description: isPlain(owner) ? null : (description ?? ''),
    ...(caller.kind === 'user' && { createdBy: caller.userId }),
  };
  tx.put(apiTokens, token);
  recordToken(writing, { token, before: false });
  return { token, secret };
}

/** Whoever presents it is nobody from this commit on. */
export function deleteToken(writing: Writing, token: AnyToken): void {
  if ('userId' in token) writing.tx.delete(userTokens, token.id);
  else writing.tx.delete(apiTokens, token.id);
  recordToken(writing, { token, before: true });
}

/** The token at the plain path of an organization or a team. */
export function plainToken(reader: Reader, owner: TokenOwner): ApiToken | undefined {
  if (owner.kind === 'organization') return reader.list(apiTokens, 'organization', owner.organizationId)[0]?.row;
  if (owner.kind === 'user' || !owner.plain) return undefined;
  return reader.list(apiTokens, 'team', owner.teamId).find(({ row }) => row.description === null)?.row;
}

const isPlain = (owner: TokenOwner): boolean => owner.kind === 'organization' || (owner.kind === 'team' && owner.plain);

interface TokenBody {
  readonly description: string | undefined;
  readonly expirationTime: string | undefined;
}

function readTokenBody({ tx }: Writing, owner: TokenOwner, attributes: Given): TokenBody {
  const faults: Fault[] = [];
  const description = readText(attributes, 'description', faults);
  const end = given(attributes, 'expired-at');
  const endMs = typeof end === 'string' ? parseTime(end) : undefined;
  if (end !== undefined && endMs === undefined) {
    faults.push(attributeFault('expired-at', 'Expired at is invalid: want a time such as 2026-01-31T00:00:00Z'));
  } else if (endMs !== undefined && endMs <= tx.now) {
    faults.push(attributeFault('expired-at', 'Expired at must be in the future'));
  }
  if (owner.kind === 'team' && !owner.plain && faults.length === 0) {
    if (description === undefined || description === '') {
      faults.push(attributeFault('description', "Description can't be blank"));
    } else if (tx.list(apiTokens, 'team', owner.teamId).some(({ row }) => row.description === description)) {
      faults.push(attributeFault('description', 'Description has already been taken'));
    }
  }
  throwFaults(faults);
  return { description, expirationTime: endMs === undefined ? undefined : new Date(endMs).toISOString() };
}

/** Without the hash: the audit log tells what a token is, not how to know it. */
export function recordToken(
  writing: Pick<Writing, 'tx' | 'origin'>,
  { token, before, action }: { readonly token: AnyToken; readonly before: boolean; readonly action?: string },
): void {
  const { secretHash: _, ...shown } = token;
  recordTeamAccess(writing.tx, writing.origin, {
    ...organizationOf(writing, token),
    action: action ?? (before ? 'destroy' : 'create'),
    type: 'authentication-tokens',
    subject: token.id,
    before: before ? shown : null,
    after: before ? null : shown,
  });
}

function organizationOf({ tx }: Pick<Writing, 'tx'>, token: AnyToken): { readonly organizationId?: string } {
  if ('userId' in token) return {};
  const organizationId =
    token.organizationId ?? (token.teamId === undefined ? undefined : tx.get(teams, token.teamId)?.row.organizationId);
  return organizationId === undefined ? {} : { organizationId };
}
