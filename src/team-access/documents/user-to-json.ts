/** The JSON form of users and of the service accounts that tokens of teams and organizations act as. */
import { hash } from 'node:crypto';
import { Type } from 'typebox';
import { addressOf, type User } from '../../credentials/user.ts';
import type { DeepReadonly } from '../../state/table.ts';
import type { Resource } from '../jsonapi/documents.ts';
import { resourceSchema, toOne } from '../jsonapi/schemas.ts';

const nullableText = Type.Union([Type.String(), Type.Null()]);

export const userSchema = resourceSchema('users', 'User', {
  attributes: {
    username: Type.String(),
    email: nullableText,
    'avatar-url': nullableText,
    'is-service-account': Type.Boolean(),
    'two-factor': Type.Object({ enabled: Type.Boolean(), verified: Type.Boolean() }),
    'unconfirmed-email': Type.Null(),
    'v2-only': Type.Boolean(),
    'is-site-admin': Type.Optional(
      Type.Boolean({ description: 'Only for the user themself and for site administrators.' }),
    ),
    'is-suspended': Type.Optional(Type.Boolean({ description: 'Only for site administrators.' })),
    permissions: Type.Record(Type.String(), Type.Boolean()),
    token: Type.Optional(
      Type.String({ description: "A new user's first token. Only the answer to the creation contains it." }),
    ),
  },
  relationships: { 'authenticated-resource': Type.Optional(toOne('teams')) },
});

/** Who reads a user: the user themself, a site administrator, both, or another member of an organization. */
export interface UserViewer {
  readonly self?: boolean;
  readonly siteAdmin?: boolean;
}

/** Returns a user. Other members do not learn who administers the server [AUTHZ-92]. */
export function userToJson(user: DeepReadonly<User>, { self = false, siteAdmin = false }: UserViewer = {}): Resource {
  const email = addressOf(user);
  return {
    id: user.id,
    type: 'users',
    attributes: {
      username: user.username,
      email: email === '' ? null : email,
      'avatar-url': avatarUrl(email),
      ...constantAttributes(false),
      ...((self || siteAdmin) && { 'is-site-admin': user.siteAdmin }),
      ...(siteAdmin && { 'is-suspended': user.suspendedTime !== undefined }),
      permissions: permissions(self),
    },
    relationships: {},
    links: { self: `/api/v2/users/${user.id}` },
  };
}

/** A team or an organization that has a token. */
interface TokenOwner {
  readonly type: string;
  readonly name: string;
}

export const serviceAccountName = ({ type, name }: TokenOwner): string =>
  `api-${type === 'teams' ? 'team' : 'org'}_${name}`;

export function serviceAccountToJson(id: string, owner: TokenOwner): Resource {
  return {
    id,
    type: 'users',
    attributes: {
      username: serviceAccountName(owner),
      email: null,
      'avatar-url': null,
      ...constantAttributes(true),
      'is-site-admin': false,
      permissions: permissions(false),
    },
    relationships: {
      'authenticated-resource': { data: { id: owner.type === 'teams' ? id : owner.name, type: owner.type } },
    },
  };
}

const constantAttributes = (isServiceAccount: boolean) => ({
  'is-service-account': isServiceAccount,
  'two-factor': { enabled: false, verified: false },
  'unconfirmed-email': null,
  'v2-only': true,
});

const permissions = (self: boolean) => ({
  'can-create-organizations': self,
  'can-change-email': false,
  'can-change-username': false,
  'can-manage-user-tokens': self,
  'can-view2fa-settings': false,
  'can-manage-hcp-account': false,
});

/** Returns the Gravatar URL of an email address, as HCP Terraform does. */
const avatarUrl = (email: string): string | null =>
  email === '' ? null : `https://www.gravatar.com/avatar/${hash('sha256', email.trim().toLowerCase())}?s=100&d=mm`;
