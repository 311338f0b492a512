/** Creates, claims, and deletes users. A user from an invitation is unclaimed until they get their first token. */

import { Type } from 'typebox';
import { hashSecret, newApiToken, newId } from '../../credentials/ids-and-secrets.ts';
import { SITE_ADMIN, type User, users, userTokens } from '../../credentials/user.ts';
import type { Parameter } from '../../http/parameter.ts';
import type { Steps } from '../../state/clock/slices.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { DeepReadonly } from '../../state/table.ts';
import { recordTeamAccessChange } from '../audit.ts';
import { type Caller, callerId } from '../authorization/caller.ts';
import { hasOtherOwner, isOwner, isUsable, makeOwner, organizationsOfUser } from '../authorization/owners.ts';
import { checkSiteAdmin } from '../authorization/site-admin.ts';
import { userToJson } from '../documents/user-to-json.ts';
import type { WriteContext } from '../http/request-pipeline.ts';
import type { Precondition } from '../jsonapi/documents.ts';
import { attributeError, type ErrorObject, JsonApiError, notFound, throwErrors } from '../jsonapi/errors.ts';
import { readBoolean, readEmail, readText } from '../jsonapi/read-attributes.ts';
import type { RawAttributes } from '../jsonapi/read-resource.ts';
import { bodySchema } from '../jsonapi/schemas.ts';
import { NAME_CHARACTERS_MAX, NAMES_SHOWN_MAX } from '../limits.ts';
import type { Organization } from '../tables/organization.ts';
import { membershipPair, memberships } from '../tables/organization-membership.ts';
import { revokeCreatedTokens } from '../tokens/change-token.ts';
import { viewerOf } from './find-user.ts';
import { makePending } from './pending-users.ts';

type AuditedWrite = Pick<WriteContext, 'tx' | 'origin'>;

export interface NewUser {
  readonly email: string;
  /** Default: derived from the email address [AUTHZ-59]. */
  readonly username?: string;
  readonly siteAdmin?: boolean;
  /** The organization whose invitation creates the user. Such a user is unclaimed and has no token. */
  readonly invitingOrganizationId?: string;
}

/** Creates a user. @throws JsonApiError `invalid-attribute` if the username or the email address is taken [AUTHZ-68] */
export function createUser(
  context: AuditedWrite,
  { email, username, siteAdmin, invitingOrganizationId }: NewUser,
): User {
  const { tx, origin } = context;
  const errors = [
    ...(username !== undefined && !releaseUsername(context, username) ? [takenError('username', 'Username')] : []),
    ...(email !== '' && tx.find(users, 'email', email.toLowerCase()) !== undefined
      ? [takenError('email', 'Email')]
      : []),
  ];
  const [first, ...rest] = errors;
  if (first !== undefined) throw new JsonApiError([first, ...rest]);
  const user: User = {
    id: tx.memoizeAcrossRetries(() => newId('user')),
    username: username ?? availableUsername(tx, email),
    email,
    siteAdmin: siteAdmin ?? false,
    createTime: new Date(tx.now).toISOString(),
    ...(invitingOrganizationId !== undefined && { unclaimed: true }),
  };
  tx.put(users, user);
  recordTeamAccessChange(tx, origin, {
    ...(invitingOrganizationId !== undefined && { organizationId: invitingOrganizationId }),
    action: 'create',
    type: 'users',
    subject: user.id,
    before: null,
    after: user,
  });
  return user;
}

/**
 * Claims the unclaimed user with this email address and gives them the requested properties [AUTHZ-67]. Returns
 * `undefined` if no user has the address or the user ever had a token. If members join by accepting, it claims no user:
 * the unclaimed user becomes a pending user, and the person accepts the memberships [AUTHZ-101].
 * @throws JsonApiError `invalid-attribute` if another user has the username
 */
export function claimUser(context: WriteContext, { email, username, siteAdmin }: NewUser): User | undefined {
  const { tx, origin, invitations } = context;
  const before = tx.find(users, 'email', email.toLowerCase())?.row;
  if (before?.unclaimed !== true) return undefined;
  if (invitations === 'accept') {
    makePending(context, before);
    return undefined;
  }
  const { unclaimed: _, ...user } = before;
  const after = { ...user, email, username: username ?? user.username, siteAdmin: siteAdmin ?? user.siteAdmin };
  const sameUsername = after.username.toLowerCase() === before.username.toLowerCase();
  if (!sameUsername && !releaseUsername(context, after.username))
    throw new JsonApiError([takenError('username', 'Username')]);
  tx.put(users, after);
  recordTeamAccessChange(tx, origin, { action: 'update', type: 'users', subject: before.id, before, after });
  return after;
}

/** Creates the first token of a user and returns its secret, which is not stored [AUTHZ-66]. */
export function createFirstToken({ tx, origin }: AuditedWrite, user: User): string {
  const secret = tx.memoizeAcrossRetries(() => newApiToken());
  const id = tx.memoizeAcrossRetries(() => newId('at'));
  const createTime = new Date(tx.now).toISOString();
  const description = 'First token';
  tx.put(userTokens, { id, userId: user.id, secretHash: hashSecret(secret), description, createTime });
  const after = { id, userId: user.id, description };
  recordTeamAccessChange(tx, origin, {
    action: 'create',
    type: 'authentication-tokens',
    subject: id,
    before: null,
    after,
  });
  return secret;
}

const takenError = (name: string, label: string) => attributeError(name, `${label} has already been taken`);

const isUsernameTaken = (tx: WriteContext['tx'], username: string): boolean =>
  tx.find(users, 'username', username.toLowerCase()) !== undefined;

/**
 * Makes a username available for a user that a site administrator creates. An unclaimed user who has it gets another
 * one [AUTHZ-68], because theirs is derived from an address that any inviting user could enter.
 * @returns whether the username is available
 */
function releaseUsername({ tx, origin }: AuditedWrite, username: string): boolean {
  const before = tx.find(users, 'username', username.toLowerCase())?.row;
  if (before === undefined) return true;
  if (before.unclaimed !== true) return false;
  const after = { ...before, username: availableUsername(tx, before.email) };
  tx.put(users, after);
  recordTeamAccessChange(tx, origin, { action: 'update', type: 'users', subject: before.id, before, after });
  return true;
}

/** Returns the local part of an email address, with a number if that username is taken [AUTHZ-59]. */
function availableUsername(tx: WriteContext['tx'], email: string): string {
  const local = email.split('@', 1)[0]?.replaceAll(/[^A-Za-z0-9_-]+/g, '-') ?? '';
  const base = local === '' ? 'user' : local;
  const isFree = (number: number): boolean => !isUsernameTaken(tx, `${base}-${number}`);
  if (!isUsernameTaken(tx, base)) return base;
  // Exponential and then binary search, because thousands of addresses can have the same local part.
  let free = 2;
  while (!isFree(free)) free *= 2;
  let taken = free / 2;
  while (free - taken > 1) {
    const middle = Math.floor((taken + free) / 2);
    if (isFree(middle)) free = middle;
    else taken = middle;
  }
  return `${base}-${free}`;
}

/**
 * Suspends a user or ends the suspension [AUTHZ-87]. Does nothing if the user already is in that state.
 * @throws JsonApiError `not-found`; `forbidden` for the last site administrator who is not suspended [AUTHZ-70]
 */
export function setSuspended({ tx, caller, origin }: WriteContext, id: string, suspended: boolean): User {
  checkSiteAdmin(caller);
  const before = tx.get(users, id)?.row;
  if (before === undefined) throw notFound();
  if (suspended === (before.suspendedTime !== undefined)) return before;
  if (suspended) checkSiteAdminRemains(tx, before, 'suspended');
  const { suspendedTime: _, ...active } = before;
  const after: User = suspended ? { ...active, suspendedTime: new Date(tx.now).toISOString() } : active;
  tx.put(users, after);
  const action = suspended ? 'suspend' : 'unsuspend';
  recordTeamAccessChange(tx, origin, { action, type: 'users', subject: id, before, after });
  return after;
}

/** @throws JsonApiError `forbidden` if no site administrator would remain who is not suspended */
function checkSiteAdminRemains(reader: Reader, { id, siteAdmin }: DeepReadonly<User>, verb: string): void {
  if (!siteAdmin) return;
  const all = reader.list(users, 'siteAdmin', SITE_ADMIN);
  if (all.some(({ row }) => row.id !== id && row.suspendedTime === undefined)) return;
  throw new JsonApiError([{ code: 'forbidden', detail: `the last site administrator cannot be ${verb}` }]);
}

export interface UserDeletion {
  readonly id: string;
  readonly precondition: Precondition;
  /** ID or username of the new owner of the organizations whose last owner the user is. */
  readonly transferTo: string | undefined;
  /** Whether to revoke the tokens of teams and organizations that the user created. */
  readonly revokeCreated: boolean;
}

/**
 * Deletes a user with their organization and team memberships and tokens in one commit [AUTHZ-69]. Apart from new owners
 * and revoked tokens, the audit log gets a single entry, because a user can be a member of any number of organizations
 * [TEAM-103].
 * @throws JsonApiError `not-found`, `precondition-failed`, `invalid-attribute`; `forbidden` for the last owner of an
 * organization without `transferTo` [AUTHZ-64] and for the last site administrator [AUTHZ-70]
 */
export function* deleteUser(
  context: WriteContext,
  { id, precondition, transferTo, revokeCreated }: UserDeletion,
): Steps<void> {
  const { tx, caller, origin, invitations } = context;
  checkSiteAdmin(caller);
  const user = tx.get(users, id)?.row;
  if (user === undefined) throw notFound();
  checkSiteAdminRemains(tx, user, 'deleted');
  const successor = transferTo === undefined ? undefined : findSuccessor(tx, transferTo, id);
  const lastOwned = organizationsOfUser(tx, id).filter(
    (organization) => isOwner(tx, organization, id) && !hasOtherOwner(tx, organization, id),
  );
  if (lastOwned.length > 0 && successor === undefined) {
    throw lastOwnerError(lastOwned.map(({ name }) => name).toSorted());
  }
  if (successor !== undefined && invitations === 'accept') checkSuccessorJoined(tx, caller, successor, lastOwned);
  precondition(() => ({ data: userToJson(user, viewerOf(caller, id)) }));
  for (const organization of lastOwned) if (successor !== undefined) makeOwner(context, organization, successor.id);
  if (revokeCreated) yield* revokeCreatedTokens(context, id);
  tx.delete(users, id);
  recordTeamAccessChange(tx, origin, { action: 'destroy', type: 'users', subject: id, before: user, after: null });
}

const lastOwnerError = (names: readonly string[]): JsonApiError => {
  const shown = names.slice(0, NAMES_SHOWN_MAX).map((name) => `'${name}'`);
  const more = names.length > NAMES_SHOWN_MAX ? [`${names.length - NAMES_SHOWN_MAX} more`] : [];
  const which = `the last owner of the organization${names.length > 1 ? 's' : ''} ${[...shown, ...more].join(', ')}`;
  const remedy = 'name a new owner with transfer-to, take the organizations over or delete them, or suspend the user';
  return new JsonApiError([{ code: 'forbidden', detail: `the user is ${which}: ${remedy}` }]);
};

export const TRANSFER_TO: Parameter = {
  name: 'transfer-to',
  description: 'ID or username of the user who becomes an owner in the same commit.',
  schema: Type.String(),
};

/**
 * Returns the user who becomes an owner: by ID or username, and able to use the organization.
 * @throws JsonApiError `invalid-attribute` with `source.parameter`
 */
export function findSuccessor(reader: Reader, named: string, leaving: string): DeepReadonly<User> {
  const user = (reader.get(users, named) ?? reader.find(users, 'username', named.toLowerCase()))?.row;
  if (user !== undefined && user.id !== leaving && isUsable(user)) return user;
  throw transferError();
}

/**
 * Rejects a successor who would join an organization without accepting [AUTHZ-100]. The caller's own request accepts.
 * @throws JsonApiError `invalid-attribute`
 */
function checkSuccessorJoined(
  reader: Reader,
  caller: Caller,
  { id }: DeepReadonly<User>,
  lastOwned: readonly DeepReadonly<Organization>[],
): void {
  if (callerId(caller) === id) return;
  const foreign = lastOwned.find(
    (organization) => reader.find(memberships, 'pair', membershipPair(organization.id, id)) === undefined,
  );
  if (foreign === undefined) return;
  const detail =
    `transfer-to must be yourself, or a member of the organization '${foreign.name}', because members join by ` +
    'accepting (team-access.invitations): name yourself, or invite the user first';
  throw new JsonApiError([{ code: 'invalid-attribute', detail, parameter: TRANSFER_TO.name }]);
}

/** Returns the same error for a user who is unknown, and for one who cannot become an owner. */
export const transferError = (): JsonApiError =>
  new JsonApiError([
    {
      code: 'invalid-attribute',
      detail:
        'transfer-to must be the ID or username of another user, who is not invited or suspended, and who is a member ' +
        'of the organization if its owner leaves',
      parameter: TRANSFER_TO.name,
    },
  ]);

export const newUserSchema = bodySchema('users', {
  attributes: {
    username: Type.String({ description: 'Letters, digits, `_` and `-`.' }),
    email: Type.String(),
    'is-site-admin': Type.Boolean(),
  },
  required: ['username', 'email'],
});

/** Reads the attributes of a new user [DOC-55]. Callers authorize first. @throws JsonApiError `invalid-attribute` */
export function readNewUser(given: RawAttributes): NewUser {
  const errors: ErrorObject[] = [];
  const username = readText(given, 'username', errors);
  const email = readEmail(given, errors, true);
  const siteAdmin = readBoolean(given, 'is-site-admin', errors);
  if (username === undefined || username === '') {
    if (given['username'] === undefined || given['username'] === null || username === '') {
      errors.unshift(attributeError('username', "Username can't be blank"));
    }
  } else if (username.length > NAME_CHARACTERS_MAX || !/^[A-Za-z0-9_-]+$/.test(username)) {
    errors.unshift(
      attributeError(
        'username',
        `Username is invalid: want up to ${NAME_CHARACTERS_MAX} letters, digits, underscores and hyphens`,
      ),
    );
  }
  throwErrors(errors);
  return {
    email: email ?? '',
    ...(username !== undefined && { username }),
    ...(siteAdmin !== undefined && { siteAdmin }),
  };
}
