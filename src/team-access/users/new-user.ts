/** Makes users: for who is invited by e-mail, and for site administrators, who give out first tokens. */
import { hashSecret, newApiToken, newId } from '../../credentials/secret.ts';
import { type User, users, userTokens } from '../../credentials/user.ts';
import { recordTeamAccess } from '../audit/record-change.ts';
import type { Writing } from '../http/request-pipeline.ts';
import { attributeFault, JsonApiError } from '../jsonapi/errors.ts';

/** The commit in which users are made. */
type Making = Pick<Writing, 'tx' | 'origin'>;

/** What is known of a new user. */
export interface NewUser {
  readonly email: string;
  /** Made of the e-mail address unless given. */
  readonly username?: string;
  readonly siteAdmin?: boolean;
  /** The organization that invites them; who is invited has no token before a site administrator makes the first one. */
  readonly invitedTo?: string;
}

/** @throws JsonApiError `invalid-attribute` when the username or the e-mail address is taken */
export function createUser(writing: Making, { email, username, siteAdmin, invitedTo }: NewUser): User {
  const { tx, origin } = writing;
  const faults = [
    ...(username !== undefined && !releaseUsername(writing, username) ? [taken('username', 'Username')] : []),
    ...(email !== '' && tx.find(users, 'email', email.toLowerCase()) !== undefined ? [taken('email', 'Email')] : []),
  ];
  const [first, ...rest] = faults;
  if (first !== undefined) throw new JsonApiError([first, ...rest]);
  const user: User = {
    id: tx.once(() => newId('user')),
    username: username ?? freeUsername(tx, email),
    email,
    siteAdmin: siteAdmin ?? false,
    createTime: new Date(tx.now).toISOString(),
    ...(invitedTo !== undefined && { unclaimed: true }),
  };
  tx.put(users, user);
  recordTeamAccess(tx, origin, {
    ...(invitedTo !== undefined && { organizationId: invitedTo }),
    action: 'create',
    type: 'users',
    subject: user.id,
    before: null,
    after: user,
  });
  return user;
}

/**
 * The user of that e-mail address who was invited, as who they come to be; `undefined` where nobody was, or somebody has
 * had a token of theirs: that one alone makes further ones.
 * @throws JsonApiError `invalid-attribute` when another has the username
 */
export function claimUser(writing: Making, { email, username, siteAdmin }: NewUser): User | undefined {
  const { tx, origin } = writing;
  const before = tx.find(users, 'email', email.toLowerCase())?.row;
  if (before?.unclaimed !== true) return undefined;
  const { unclaimed: _, ...known } = before;
  const after = { ...known, email, username: username ?? known.username, siteAdmin: siteAdmin ?? known.siteAdmin };
  const same = after.username.toLowerCase() === before.username.toLowerCase();
  if (!same && !releaseUsername(writing, after.username)) throw new JsonApiError([taken('username', 'Username')]);
  tx.put(users, after);
  recordTeamAccess(tx, origin, { action: 'update', type: 'users', subject: before.id, before, after });
  return after;
}

/** A user's first token, told once. @returns the secret */
export function createFirstToken({ tx, origin }: Making, user: User): string {
  const secret = tx.once(() => newApiToken());
  const id = tx.once(() => newId('at'));
  const createTime = new Date(tx.now).toISOString();
  const description = 'First token';
  tx.put(userTokens, { id, userId: user.id, secretHash: hashSecret(secret), description, createTime });
  const after = { id, userId: user.id, description };
  recordTeamAccess(tx, origin, { action: 'create', type: 'authentication-tokens', subject: id, before: null, after });
  return secret;
}

const taken = (name: string, label: string) => attributeFault(name, `${label} has already been taken`);

const isTaken = (tx: Writing['tx'], username: string): boolean =>
  tx.find(users, 'username', username.toLowerCase()) !== undefined;

/**
 * Makes a username free for whom a site administrator gives it to. Who was invited and has not come has one that nobody
 * chose, made of an address that anybody may have written: they get another.
 * @returns whether it is free
 */
function releaseUsername({ tx, origin }: Making, username: string): boolean {
  const before = tx.find(users, 'username', username.toLowerCase())?.row;
  if (before === undefined) return true;
  if (before.unclaimed !== true) return false;
  const after = { ...before, username: freeUsername(tx, before.email) };
  tx.put(users, after);
  recordTeamAccess(tx, origin, { action: 'update', type: 'users', subject: before.id, before, after });
  return true;
}

/** What stands before the `@`, with a number where someone has that name. */
function freeUsername(tx: Writing['tx'], email: string): string {
  const local = email.split('@', 1)[0]?.replaceAll(/[^A-Za-z0-9_-]+/g, '-') ?? '';
  const wanted = local === '' ? 'user' : local;
  const isFree = (number: number): boolean => !isTaken(tx, `${wanted}-${number}`);
  if (!isTaken(tx, wanted)) return wanted;
  // By doubling, then by halves: thousands can have the same name at different domains.
  let free = 2;
  while (!isFree(free)) free *= 2;
  let taken = free / 2;
  while (free - taken > 1) {
    const middle = Math.floor((taken + free) / 2);
    if (isFree(middle)) free = middle;
    else taken = middle;
  }
  return `${wanted}-${free}`;
}
