/** The bodies that create and change tokens: their schemas, and the checks that a schema cannot express. */
import { type Static, Type } from 'typebox';
import { ServiceError } from '../../http/errors.ts';
import { parseDuration } from '../../http/v1/duration.ts';
import type { Reader } from '../../state/memory/reader.ts';
import { type Grant, NAMED_RESOURCES, RESOURCES, type Resource } from '../acl-token.ts';
import { GRANT_NAMES_MAX, GRANTS_MAX, TEXT_CHARACTERS_MAX, TOKEN_NAMES_MAX, TOKEN_TTL_MS_MAX } from '../limits.ts';
import { parseTime } from '../parse-time.ts';
import {
  COMMUNITY_TEXT,
  DEFAULT_PARTITION,
  type Edition,
  existingPartition,
  invalidPartitionText,
  isPartitionName,
  partitionKey,
} from '../partition.ts';

const grantBodySchema = Type.Object(
  {
    Resource: Type.Enum([...RESOURCES]),
    Access: Type.Enum(['read', 'write']),
    Partition: Type.Optional(
      Type.String({ description: "The name of a partition, or * for every partition. Absent: the token's partition." }),
    ),
    Names: Type.Optional(
      Type.Array(Type.String(), {
        maxItems: GRANT_NAMES_MAX,
        description: 'Exact names such as east, and prefixes such as prod-*. Absent: every name.',
      }),
    ),
  },
  { additionalProperties: false },
);

const writableFields = {
  Description: Type.Optional(Type.String({ maxLength: TEXT_CHARACTERS_MAX })),
  Partition: Type.Optional(Type.String()),
  Grants: Type.Optional(Type.Array(grantBodySchema, { maxItems: GRANTS_MAX })),
  ExpirationTime: Type.Optional(Type.String({ description: 'When the token expires, RFC 3339.' })),
};

export const newTokenSchema = Type.Object(
  {
    ...writableFields,
    ExpirationTTL: Type.Optional(Type.String({ description: 'The time until the token expires, such as 8h.' })),
  },
  { title: 'NewACLToken', additionalProperties: false },
);
export type NewToken = Static<typeof newTokenSchema>;

/** The body of `PUT /v1/acl/token/:accessor`. Accepts and ignores computed fields, as a read returns them [ACL-41]. */
export const tokenUpdateSchema = Type.Object(
  {
    AccessorID: Type.Optional(Type.String()),
    ...writableFields,
    CreateTime: Type.Optional(Type.String()),
    CreateIndex: Type.Optional(Type.Integer()),
    ModifyIndex: Type.Optional(Type.Integer()),
  },
  { title: 'ChangedACLToken', additionalProperties: false },
);
export type TokenUpdate = Static<typeof tokenUpdateSchema>;

/** A name, a prefix such as `prod-*`, or `*` for every name [ACL-22]. */
const NAME_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}\*?$|^\*$/;

type GrantBody = Static<typeof grantBodySchema>;

/**
 * Checks the syntax of grants, which precedes authentication [V1-52].
 * @returns a function from the token's partition to its grants. A grant without a partition gets that one [ACL-19].
 * @throws ServiceError `bad-request` with the path of the wrong field
 */
export function parseGrants(given: readonly GrantBody[], edition: Edition): (tokenPartition: string) => Grant[] {
  const names = given.reduce((count, { Names = [] }) => count + Names.length, 0);
  if (names > TOKEN_NAMES_MAX) {
    const text = `Grants: ${names} names, want at most ${TOKEN_NAMES_MAX} in a token; use a prefix such as prod-* for many names`;
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

/** Returns the grants with the stored spelling of their partitions. @throws ServiceError `bad-request` [ACL-20] */
export function withStoredPartitionNames(reader: Reader, grants: readonly Grant[]): Grant[] {
  return grants.map((grant) =>
    grant.Partition === '*' ? grant : { ...grant, Partition: existingPartition(reader, grant.Partition) },
  );
}

/** When a new token expires: `atMs`, or `ttlMs` after its creation. */
export interface Expiration {
  /** The field and its value, for errors. */
  readonly text: string;
  readonly atMs?: number;
  readonly ttlMs?: number;
}

/** Parses the expiration of a body, if it has one [ACL-33], [ACL-34]. @throws ServiceError `bad-request` */
export function parseExpiration({
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
    `ExpirationTime "${time}" is not an RFC 3339 time, such as 2026-01-31T00:00:00Z`,
  );
}

/** Returns the expiration time of a token created now, RFC 3339 [ACL-35]. @throws ServiceError `bad-request` */
export function expirationTime({ text, atMs, ttlMs = 0 }: Expiration, nowMs: number): string {
  const endMs = Math.ceil(atMs ?? nowMs + ttlMs);
  if (endMs > nowMs && endMs <= nowMs + TOKEN_TTL_MS_MAX) return new Date(endMs).toISOString();
  throw new ServiceError('bad-request', `${text} must be in the future, within a hundred years`);
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
