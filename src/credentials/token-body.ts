/** What a request says about a token: its schema, and what the schema cannot say. */
import { type Static, Type } from 'typebox';
import { ServiceError } from '../http/errors.ts';
import { parseDuration } from '../http/v1/duration.ts';
import type { Reader } from '../state/reader.ts';
import { type Grant, NAMED_RESOURCES, type Resource } from './grant.ts';
import { DESCRIPTION_CHARACTERS_MAX, GRANT_NAMES_MAX, GRANTS_MAX, TOKEN_LIFE_MS_MAX } from './limits.ts';
import { DEFAULT_PARTITION, isPartitionName, partitionKey } from './partition.ts';
import { COMMUNITY_TEXT, type Edition, existingPartition, invalidPartitionText } from './request-partition.ts';

const grantSchema = Type.Object(
  {
    Resource: Type.Enum(['peering', 'services', 'config', 'acl', 'operator']),
    Access: Type.Enum(['read', 'write']),
    Partition: Type.Optional(Type.String()),
    Names: Type.Optional(Type.Array(Type.String(), { maxItems: GRANT_NAMES_MAX })),
  },
  { additionalProperties: false },
);

const settable = {
  Description: Type.Optional(Type.String({ maxLength: DESCRIPTION_CHARACTERS_MAX })),
  Partition: Type.Optional(Type.String()),
  Grants: Type.Optional(Type.Array(grantSchema, { maxItems: GRANTS_MAX })),
  ExpirationTime: Type.Optional(Type.String()),
};

/** The body of `PUT /v1/acl/token`. `ExpirationTTL` is a duration such as `8h`. */
export const newTokenSchema = Type.Object(
  { ...settable, ExpirationTTL: Type.Optional(Type.String()) },
  { additionalProperties: false },
);
export type NewToken = Static<typeof newTokenSchema>;

/** The body of `PUT /v1/acl/token/:accessor`: what is absent stays; what is computed is taken and not looked at. */
export const changedTokenSchema = Type.Object(
  {
    AccessorID: Type.Optional(Type.String()),
    ...settable,
    CreateTime: Type.Optional(Type.String()),
    CreateIndex: Type.Optional(Type.Integer()),
    ModifyIndex: Type.Optional(Type.Integer()),
  },
  { additionalProperties: false },
);
export type ChangedToken = Static<typeof changedTokenSchema>;

/** A name in a grant: that of a peer, service or entry, or a prefix of some; `*` alone is every name. */
const NAME_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}\*?$|^\*$/;

type GivenGrant = Static<typeof grantSchema>;

/** The grants as they are kept; syntax only. @throws ServiceError `bad-request` naming the place */
export function readGrants(given: readonly GivenGrant[], tokenPartition: string, edition: Edition): Grant[] {
  return given.map((grant, i) => {
    const place = `Grants[${i}]`;
    const Partition = grant.Partition || tokenPartition;
    checkGrantPartition(Partition, place, edition);
    if (grant.Names === undefined) return { Resource: grant.Resource, Access: grant.Access, Partition };
    checkNames(grant.Resource, grant.Names, place);
    return { Resource: grant.Resource, Access: grant.Access, Partition, Names: grant.Names };
  });
}

/** Grants with the partitions that they name, each as it was first named. @throws ServiceError `bad-request` */
export function grantsInExistingPartitions(reader: Reader, grants: readonly Grant[]): Grant[] {
  return grants.map((grant) =>
    grant.Partition === '*' ? grant : { ...grant, Partition: existingPartition(reader, grant.Partition) },
  );
}

/** When a new token ends, RFC 3339; undefined: never. @throws ServiceError `bad-request` */
export function readExpiration({ ExpirationTime, ExpirationTTL }: NewToken, nowMs: number): string | undefined {
  if (ExpirationTime !== undefined && ExpirationTTL !== undefined) {
    throw new ServiceError('bad-request', 'ExpirationTime and ExpirationTTL are both given: want one of them');
  }
  const endMs = ExpirationTTL === undefined ? absoluteEnd(ExpirationTime) : nowMs + ttlMs(ExpirationTTL);
  if (endMs === undefined) return undefined;
  if (endMs <= nowMs || endMs > nowMs + TOKEN_LIFE_MS_MAX) {
    const given =
      ExpirationTTL === undefined ? `ExpirationTime "${ExpirationTime}"` : `ExpirationTTL "${ExpirationTTL}"`;
    throw new ServiceError('bad-request', `${given} must lie in the future, at most a hundred years away`);
  }
  return new Date(endMs).toISOString();
}

function ttlMs(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined)
    throw new ServiceError('bad-request', `ExpirationTTL "${text}" is not a duration such as 8h or 1h30m`);
  return ms;
}

/** RFC 3339, section 5.6, with the offset that `Date.parse` would let be left out. */
const RFC_3339 = /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}(\.\d+)?([Zz]|[+-]\d{2}:\d{2})$/;

function absoluteEnd(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  const ms = RFC_3339.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(ms)) return ms;
  throw new ServiceError('bad-request', `ExpirationTime "${text}" is not a time as RFC 3339 writes it`);
}

function checkGrantPartition(name: string, place: string, edition: Edition): void {
  if (name === '*') return;
  if (!isPartitionName(name))
    throw new ServiceError('bad-request', `${place}.Partition: ${invalidPartitionText(name)}`);
  if (edition === 'community' && partitionKey(name) !== DEFAULT_PARTITION) {
    throw new ServiceError('bad-request', `${place}.Partition: ${COMMUNITY_TEXT}`);
  }
}

function checkNames(resource: Resource, names: readonly string[], place: string): void {
  if (!NAMED_RESOURCES.has(resource)) {
    throw new ServiceError('bad-request', `${place}.Names: a grant on ${resource} cannot be limited to names`);
  }
  if (names.length === 0) {
    throw new ServiceError(
      'bad-request',
      `${place}.Names: an empty list would grant nothing; leave Names out to grant every name`,
    );
  }
  names.forEach((name, j) => {
    if (NAME_PATTERN.test(name)) return;
    throw new ServiceError(
      'bad-request',
      `${place}.Names[${j}]: "${name}" is not a name such as east, nor a prefix such as prod-*`,
    );
  });
}
