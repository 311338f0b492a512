/** What a request says about a token: its schema, and what the schema cannot say. */
import { type Static, Type } from 'typebox';
import { ServiceError } from '../../http/errors.ts';
import { parseDuration } from '../../http/v1/duration.ts';
import type { Reader } from '../../state/memory/reader.ts';
import { type Grant, NAMED_RESOURCES, RESOURCES, type Resource } from '../grant.ts';
import {
  DESCRIPTION_CHARACTERS_MAX,
  GRANT_NAMES_MAX,
  GRANTS_MAX,
  TOKEN_LIFE_MS_MAX,
  TOKEN_NAMES_MAX,
} from '../limits.ts';
import { parseTime } from '../parse-time.ts';
import { DEFAULT_PARTITION, isPartitionName, partitionKey } from '../partition.ts';
import { COMMUNITY_TEXT, type Edition, existingPartition, invalidPartitionText } from '../request-partition.ts';

const givenGrantSchema = Type.Object(
  {
    Resource: Type.Enum([...RESOURCES]),
    Access: Type.Enum(['read', 'write']),
    Partition: Type.Optional(
      Type.String({ description: "A partition's name, or * for all; absent: the token's own." }),
    ),
    Names: Type.Optional(
      Type.Array(Type.String(), {
        maxItems: GRANT_NAMES_MAX,
        description: 'Exact names, or prefix*; absent: all names.',
      }),
    ),
  },
  { additionalProperties: false },
);

const settable = {
  Description: Type.Optional(Type.String({ maxLength: DESCRIPTION_CHARACTERS_MAX })),
  Partition: Type.Optional(Type.String()),
  Grants: Type.Optional(Type.Array(givenGrantSchema, { maxItems: GRANTS_MAX })),
  ExpirationTime: Type.Optional(Type.String({ description: 'When it ends, RFC 3339.' })),
};

/** The body of `PUT /v1/acl/token`. */
export const newTokenSchema = Type.Object(
  { ...settable, ExpirationTTL: Type.Optional(Type.String({ description: 'After how long it ends, such as 8h.' })) },
  { title: 'NewACLToken', additionalProperties: false },
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
  { title: 'ChangedACLToken', additionalProperties: false },
);
export type ChangedToken = Static<typeof changedTokenSchema>;

/** A name in a grant: that of a peer, service or entry, or a prefix of some; `*` alone is every name. */
const NAME_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}\*?$|^\*$/;

type GivenGrant = Static<typeof givenGrantSchema>;

/**
 * Checks how grants are written, before anybody is asked who calls.
 * @returns the grants as they are kept, of a token in the given partition: a grant that names none is for that one
 * @throws ServiceError `bad-request` naming the place
 */
export function grantsOf(given: readonly GivenGrant[], edition: Edition): (tokenPartition: string) => Grant[] {
  const names = given.reduce((count, { Names = [] }) => count + Names.length, 0);
  if (names > TOKEN_NAMES_MAX) {
    const text = `Grants: ${names} names are too many, want at most ${TOKEN_NAMES_MAX} in a token: a prefix such as prod-* stands for many`;
    throw new ServiceError('bad-request', text);
  }
  given.forEach(({ Resource, Partition, Names }, i) => {
    if (Partition !== undefined && Partition !== '') checkGrantPartition(Partition, `Grants[${i}]`, edition);
    if (Names !== undefined) checkNames(Resource, Names, `Grants[${i}]`);
  });
  return (tokenPartition) =>
    given.map(({ Resource, Access, Partition, Names }) => ({
      Resource,
      Access,
      Partition: Partition || tokenPartition,
      ...(Names === undefined ? {} : { Names }),
    }));
}

/** Grants with the partitions that they name, each as it was first named. @throws ServiceError `bad-request` */
export function inExistingPartitions(reader: Reader, grants: readonly Grant[]): Grant[] {
  return grants.map((grant) =>
    grant.Partition === '*' ? grant : { ...grant, Partition: existingPartition(reader, grant.Partition) },
  );
}

/** When a token is to end: at a time, or so long after it is made. */
export interface Expiration {
  /** As it was given, with the name of its field. */
  readonly text: string;
  readonly atMs?: number;
  readonly ttlMs?: number;
}

/** What a body says about the end of a token, syntax only; undefined: nothing. @throws ServiceError `bad-request` */
export function readExpiration({
  ExpirationTime: time = '',
  ExpirationTTL: ttl = '',
}: NewToken): Expiration | undefined {
  if (time !== '' && ttl !== '') {
    throw new ServiceError('bad-request', 'ExpirationTime and ExpirationTTL are both given: want one of them');
  }
  if (ttl !== '') {
    const ttlMs = parseDuration(ttl);
    if (ttlMs !== undefined) return { text: `ExpirationTTL "${ttl}"`, ttlMs };
    throw new ServiceError('bad-request', `ExpirationTTL "${ttl}" is not a duration such as 8h or 1h30m`);
  }
  if (time === '') return undefined;
  const atMs = parseTime(time);
  if (atMs !== undefined) return { text: `ExpirationTime "${time}"`, atMs };
  throw new ServiceError(
    'bad-request',
    `ExpirationTime "${time}" is not a time as RFC 3339 writes it, such as 2026-01-31T00:00:00Z`,
  );
}

/** The end of a token that is made now, RFC 3339. @throws ServiceError `bad-request` */
export function expirationTime({ text, atMs, ttlMs = 0 }: Expiration, nowMs: number): string {
  const endMs = Math.ceil(atMs ?? nowMs + ttlMs);
  if (endMs > nowMs && endMs <= nowMs + TOKEN_LIFE_MS_MAX) return new Date(endMs).toISOString();
  throw new ServiceError('bad-request', `${text} must lie in the future, at most a hundred years away`);
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
