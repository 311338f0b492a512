/** Creates and revokes tokens of users, teams, and organizations. Callers have authorized the change. */
import { Type } from 'typebox';
import { SYSTEM } from '../../audit/record.ts';
import { hashSecret, newApiToken, newId } from '../../credentials/ids-and-secrets.ts';
import { parseTime } from '../../credentials/parse-time.ts';
import { type UserToken, userTokens } from '../../credentials/user.ts';
import type { Clock } from '../../state/clock/clock.ts';
import { type Steps, visitInSlices } from '../../state/clock/slices.ts';
import { expiryJob } from '../../state/jobs/expiry.ts';
import type { Job } from '../../state/jobs/placement.ts';
import { listInSlices, type Reader } from '../../state/memory/reader.ts';
import type { State } from '../../state/state.ts';
import { recordTeamAccessChange } from '../audit.ts';
import type { AnyToken } from '../documents/authentication-token-to-json.ts';
import type { WriteContext } from '../http/request-pipeline.ts';
import { attributeError, type ErrorObject, throwErrors } from '../jsonapi/errors.ts';
import { readText } from '../jsonapi/read-attributes.ts';
import { attributeValue, type RawAttributes } from '../jsonapi/read-resource.ts';
import { bodySchema } from '../jsonapi/schemas.ts';
import { REVOKED_AT_ONCE } from '../limits.ts';
import { type ApiToken, apiTokens } from '../tables/authentication-token.ts';
import { teams } from '../tables/team.ts';

export const newTokenSchema = bodySchema('authentication-tokens', {
  attributes: {
    description: Type.String(),
    'expired-at': Type.Union([Type.String(), Type.Null()], { description: 'RFC 3339. Null: never.' }),
  },
});

/**
 * The user, team, or organization that a token belongs to. `single` selects the one token of a team at
 * `/authentication-token` [AUTHZ-75] instead of its tokens with descriptions [AUTHZ-76].
 */
export type TokenOwner =
  | { readonly kind: 'user'; readonly userId: string }
  | { readonly kind: 'team'; readonly teamId: string; readonly organizationId: string; readonly single: boolean }
  | { readonly kind: 'organization'; readonly organizationId: string };

/** A new token with its secret, which only the answer to the creation contains [AUTHZ-72]. */
export interface CreatedToken {
  readonly token: AnyToken;
  readonly secret: string;
}

/**
 * Creates a token. A new single token of a team or an organization revokes the previous one [AUTHZ-75].
 * @throws JsonApiError `invalid-attribute`
 */
export function createToken(context: WriteContext, owner: TokenOwner, attributes: RawAttributes): CreatedToken {
  const { tx, caller } = context;
  const { description, expirationTime } = readTokenBody(context, owner, attributes);
  const secret = tx.memoizeAcrossRetries(() => newApiToken());
  const common = {
    id: tx.memoizeAcrossRetries(() => newId('at')),
    secretHash: hashSecret(secret),
    createTime: new Date(tx.now).toISOString(),
    ...(expirationTime !== undefined && { expirationTime }),
  };
  if (owner.kind === 'user') {
    const token: UserToken = { ...common, userId: owner.userId, description: description ?? '' };
    tx.put(userTokens, token);
    recordToken(context, { token, before: false });
    return { token, secret };
  }
  const previous = singleToken(tx, owner);
  if (previous !== undefined) deleteToken(context, previous);
  const token: ApiToken = {
    ...common,
    ...(owner.kind === 'team' ? { teamId: owner.teamId } : { organizationId: owner.organizationId }),
    description: isSingle(owner) ? null : (description ?? ''),
    ...(caller.kind === 'user' && { createdBy: caller.userId }),
  };
  tx.put(apiTokens, token);
  recordToken(context, { token, before: false });
  return { token, secret };
}

/** Revokes a token. Requests with it get 401 from this commit on [TEAM-25]. */
export function deleteToken(context: WriteContext, token: AnyToken): void {
  if ('userId' in token) context.tx.delete(userTokens, token.id);
  else context.tx.delete(apiTokens, token.id);
  recordToken(context, { token, before: true });
}

/** Revokes the tokens of teams and organizations that a user created, also after the deletion of the user. */
export function* revokeCreatedTokens(context: WriteContext, userId: string): Steps<void> {
  const tokens = yield* listInSlices(context.tx, apiTokens, 'createdBy', userId);
  yield* visitInSlices(tokens, ({ row }) => deleteToken(context, row));
}

/** Whether a user created so many tokens of teams and organizations that their revocation is a large write. */
export const hasCreatedMany = (reader: Reader, userId: string): boolean =>
  reader.list(apiTokens, 'createdBy', userId, { limit: REVOKED_AT_ONCE + 1 }).length > REVOKED_AT_ONCE;

/** Returns the token at `/authentication-token` of an organization or a team. */
export function singleToken(reader: Reader, owner: TokenOwner): ApiToken | undefined {
  if (owner.kind === 'organization') return reader.list(apiTokens, 'organization', owner.organizationId)[0]?.row;
  if (owner.kind === 'user' || !owner.single) return undefined;
  return reader.list(apiTokens, 'team', owner.teamId).find(({ row }) => row.description === null)?.row;
}

const isSingle = (owner: TokenOwner): boolean =>
  owner.kind === 'organization' || (owner.kind === 'team' && owner.single);

interface TokenBody {
  readonly description: string | undefined;
  readonly expirationTime: string | undefined;
}

/** Reads the body of a token creation [AUTHZ-76, AUTHZ-80]. */
function readTokenBody({ tx }: WriteContext, owner: TokenOwner, attributes: RawAttributes): TokenBody {
  const errors: ErrorObject[] = [];
  const description = readText(attributes, 'description', errors);
  const expiredAt = attributeValue(attributes, 'expired-at');
  const expirationMs = typeof expiredAt === 'string' ? parseTime(expiredAt) : undefined;
  if (expiredAt !== undefined && expirationMs === undefined) {
    errors.push(attributeError('expired-at', 'Expired at is invalid: want a time such as 2026-01-31T00:00:00Z'));
  } else if (expirationMs !== undefined && expirationMs <= tx.now) {
    errors.push(attributeError('expired-at', 'Expired at must be in the future'));
  }
  if (owner.kind === 'team' && !owner.single && errors.length === 0) {
    if (description === undefined || description === '') {
      errors.push(attributeError('description', "Description can't be blank"));
    } else if (tx.list(apiTokens, 'team', owner.teamId).some(({ row }) => row.description === description)) {
      errors.push(attributeError('description', 'Description has already been taken'));
    }
  }
  throwErrors(errors);
  return { description, expirationTime: expirationMs === undefined ? undefined : new Date(expirationMs).toISOString() };
}

/** Adds an audit entry for a token, without its hash [TEAM-104]. */
function recordToken(
  context: Pick<WriteContext, 'tx' | 'origin'>,
  { token, before, action }: { readonly token: AnyToken; readonly before: boolean; readonly action?: string },
): void {
  const { secretHash: _, ...audited } = token;
  recordTeamAccessChange(context.tx, context.origin, {
    ...organizationOf(context, token),
    action: action ?? (before ? 'destroy' : 'create'),
    type: 'authentication-tokens',
    subject: token.id,
    before: before ? audited : null,
    after: before ? null : audited,
  });
}

function organizationOf({ tx }: Pick<WriteContext, 'tx'>, token: AnyToken): { readonly organizationId?: string } {
  if ('userId' in token) return {};
  const organizationId =
    token.organizationId ?? (token.teamId === undefined ? undefined : tx.get(teams, token.teamId)?.row.organizationId);
  return organizationId === undefined ? {} : { organizationId };
}

/** The background job that deletes expired tokens of teams and organizations [AUTHZ-80]. */
export const tokenExpiryJob = (state: State, clock: Clock): Job =>
  expiryJob(state, apiTokens, clock, (tx, { row: token }) =>
    recordToken({ tx, origin: SYSTEM }, { token, before: true, action: 'expire' }),
  );
