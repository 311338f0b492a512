/** How a user is shown. */
import { hash } from 'node:crypto';
import { Type } from 'typebox';
import type { User } from '../../credentials/user.ts';
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
    'is-site-admin': Type.Boolean(),
    permissions: Type.Record(Type.String(), Type.Boolean()),
    token: Type.Optional(Type.String({ description: "A new user's first token; shown once." })),
  },
  relationships: { 'authenticated-resource': Type.Optional(toOne('teams')) },
});

/** A user; `own`: to themself. */
export function showUser(user: DeepReadonly<User>, own = false): Resource {
  return {
    id: user.id,
    type: 'users',
    attributes: {
      username: user.username,
      email: user.email === '' ? null : user.email,
      'avatar-url': avatarOf(user.email),
      ...shared(false),
      'is-site-admin': user.siteAdmin,
      permissions: permissions(own),
    },
    relationships: {},
    links: { self: `/api/v2/users/${user.id}` },
  };
}

/** A team or an organization for which a token acts. */
interface ActingFor {
  readonly type: string;
  readonly name: string;
}

/** The username of what its token acts as. */
export const serviceAccountName = ({ type, name }: ActingFor): string =>
  `api-${type === 'teams' ? 'team' : 'org'}_${name}`;

/** What a token of a team or an organization acts as. */
export function showServiceAccount(id: string, of: ActingFor): Resource {
  return {
    id,
    type: 'users',
    attributes: {
      username: serviceAccountName(of),
      email: null,
      'avatar-url': null,
      ...shared(true),
      'is-site-admin': false,
      permissions: permissions(false),
    },
    relationships: { 'authenticated-resource': { data: { id: of.type === 'teams' ? id : of.name, type: of.type } } },
  };
}

const shared = (isServiceAccount: boolean) => ({
  'is-service-account': isServiceAccount,
  'two-factor': { enabled: false, verified: false },
  'unconfirmed-email': null,
  'v2-only': true,
});

const permissions = (own: boolean) => ({
  'can-create-organizations': own,
  'can-change-email': false,
  'can-change-username': false,
  'can-manage-user-tokens': own,
  'can-view2fa-settings': false,
  'can-manage-hcp-account': false,
});

/** As such services do: an address of a picture that a user may have under their e-mail address. */
const avatarOf = (email: string): string | null =>
  email === '' ? null : `https://www.gravatar.com/avatar/${hash('sha256', email.trim().toLowerCase())}?s=100&d=mm`;
