/** The JSON form of tokens. Only the answer to a creation contains the secret. */
import { Type } from 'typebox';
import type { UserToken } from '../../credentials/user.ts';
import type { Reader } from '../../state/memory/reader.ts';
import type { DeepReadonly } from '../../state/table.ts';
import type { Resource } from '../jsonapi/documents.ts';
import { resourceSchema, toOne } from '../jsonapi/schemas.ts';
import { type ApiToken, tokenUses } from '../tables/authentication-token.ts';
import { organizations } from '../tables/organization.ts';
import { teams } from '../tables/team.ts';
import { organizationRelationship } from './organization-to-json.ts';

const nullableText = Type.Union([Type.String(), Type.Null()]);

export const tokenSchema = resourceSchema('authentication-tokens', 'AuthenticationToken', {
  attributes: {
    'created-at': Type.String(),
    'last-used-at': nullableText,
    description: nullableText,
    'expired-at': Type.Union([Type.String(), Type.Null()], { description: 'Null when it does not expire.' }),
    token: Type.Union([Type.String(), Type.Null()], { description: 'Null except in the answer to the creation.' }),
  },
  relationships: {
    'created-by': Type.Optional(toOne('users')),
    team: Type.Optional(toOne('teams')),
    organization: Type.Optional(toOne('organizations')),
  },
});

export type AnyToken = DeepReadonly<ApiToken> | DeepReadonly<UserToken>;

export function tokenToJson(reader: Reader, token: AnyToken, secret: string | null = null): Resource {
  const createdBy = 'userId' in token ? token.userId : token.createdBy;
  const teamId = 'userId' in token ? undefined : token.teamId;
  return {
    id: token.id,
    type: 'authentication-tokens',
    attributes: {
      'created-at': token.createTime,
      'last-used-at': reader.get(tokenUses, token.id)?.row.lastTime ?? null,
      description: token.description,
      'expired-at': token.expirationTime ?? null,
      token: secret,
    },
    relationships: {
      ...(createdBy !== undefined && { 'created-by': { data: { id: createdBy, type: 'users' } } }),
      ...(teamId !== undefined && { team: { data: { id: teamId, type: 'teams' } } }),
    },
  };
}

/** Returns a token of a team or an organization, with the organization, for site administrators. */
export function createdTokenToJson(reader: Reader, token: DeepReadonly<ApiToken>): Resource {
  const { relationships, ...resource } = tokenToJson(reader, token);
  const organizationId = token.organizationId ?? reader.get(teams, token.teamId ?? '')?.row.organizationId ?? '';
  const organization = reader.get(organizations, organizationId)?.row.name ?? '';
  return { ...resource, relationships: { ...relationships, organization: organizationRelationship(organization) } };
}

/** Removes `last-used-at`, which changes without a change of the token, so that it does not affect the `ETag`. */
export const withoutLastUsed = ({ attributes, ...token }: Resource): Resource => {
  const { 'last-used-at': _, ...lasting } = attributes ?? {};
  return { ...token, attributes: lasting };
};
