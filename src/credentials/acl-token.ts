/**
 * ACL tokens: their grants, the table of tokens, and the checks whether grants permit an action or cover another grant
 * [ACL-17] to [ACL-31]. Names and partitions match without regard to case [ACL-25].
 */
import { hash } from 'node:crypto';
import { type Static, Type } from 'typebox';
import { derivedFrom } from '../state/memory/derived-cache.ts';
import { type DeepReadonly, defineTable } from '../state/table.ts';
import { partitionKey, partitions } from './partition.ts';

export const RESOURCES = ['peering', 'services', 'config', 'acl', 'operator'] as const;
export type Resource = (typeof RESOURCES)[number];
export type Access = 'read' | 'write';

export const grantSchema = Type.Object(
  {
    Resource: Type.Enum([...RESOURCES]),
    Access: Type.Enum(['read', 'write']),
    Partition: Type.String({ description: 'The name of a partition, or * for every partition.' }),
    Names: Type.Optional(
      Type.Array(Type.String(), {
        description: 'Exact names such as east, and prefixes such as prod-*. Absent: every name.',
      }),
    ),
  },
  { title: 'Grant' },
);

export type Grant = DeepReadonly<Static<typeof grantSchema>>;

export interface AclToken {
  /** A UUID in lower case. Public. */
  readonly accessorId: string;
  /** SHA-256 of the secret ID [ACL-8]. */
  readonly secretHash: string;
  readonly description: string;
  /** The partition of the token. It is also the default partition of the token's requests [ACL-48]. */
  readonly partition: string;
  readonly grants: readonly Grant[];
  /** RFC 3339. Absent: the token does not expire. */
  readonly expirationTime?: string;
  readonly createTime: string;
}

export const aclTokens = defineTable<AclToken>()({
  name: 'acl-tokens',
  key: (token) => token.accessorId,
  formats: { version: 1 },
  indexes: {
    secretHash: { entry: (token) => token.secretHash, unique: true },
    partition: { entry: (token) => token.partition.toLowerCase(), watched: true },
  },
  countsToward: [{ table: partitions, key: (token) => partitionKey(token.partition) }],
  holdsSecrets: true,
  expiresAt: (token) => (token.expirationTime === undefined ? undefined : Date.parse(token.expirationTime)),
});

/** An action for which a caller needs a grant. */
export interface Permission {
  readonly resource: Resource;
  readonly access: Access;
  /** The name of a partition, or `*` for an action on the whole cluster [ACL-27]. */
  readonly partition: string;
  /** The name of the object. Absent: the action concerns no single name and needs a grant without names [ACL-26]. */
  readonly name?: string;
}

/** The grants of the first credentials: write access to every resource in every partition. */
export const ALL_GRANTS: readonly Grant[] = RESOURCES.map((Resource) => ({
  Resource,
  Access: 'write',
  Partition: '*',
}));

/** The resources for which a grant can be limited to names [ACL-18]. */
export const NAMED_RESOURCES: ReadonlySet<Resource> = new Set(['peering', 'services', 'config']);

/** Returns a function that hashes the grants of one resource to a key, which is short however many grants there are. */
export const grantsKeyFor = (resource: Resource): ((grants: readonly Grant[]) => string) =>
  derivedFrom((grants) =>
    hash('sha256', JSON.stringify(grants.filter(({ Resource }) => Resource === resource)), 'base64url'),
  );

export function permits(grants: readonly Grant[], { resource, access, partition, name }: Permission): boolean {
  return grants.some(
    (grant) =>
      allowsAccess(grant, resource, access) &&
      coversPartition(grant.Partition, partition) &&
      (grant.Names === undefined ||
        (name !== undefined && grant.Names.some((pattern) => matchesPattern(pattern, name)))),
  );
}

/** Whether one of the grants permits the access to at least one name in the partition. Such a caller may list. */
export function permitsAnyName(
  grants: readonly Grant[],
  resource: Resource,
  access: Access,
  partition: string,
): boolean {
  return grants.some((grant) => allowsAccess(grant, resource, access) && coversPartition(grant.Partition, partition));
}

/** Whether the held grants permit everything that `wanted` permits [ACL-30]. */
export function covers(held: readonly Grant[], wanted: Grant): boolean {
  const candidates = held.filter(
    (grant) =>
      allowsAccess(grant, wanted.Resource, wanted.Access) && coversPartition(grant.Partition, wanted.Partition),
  );
  if (candidates.some((grant) => grant.Names === undefined)) return true;
  if (wanted.Names === undefined) return false;
  return wanted.Names.every((name) =>
    candidates.some((grant) => grant.Names?.some((pattern) => coversPattern(pattern, name))),
  );
}

function allowsAccess(grant: Grant, resource: Resource, access: Access): boolean {
  return grant.Resource === resource && (grant.Access === 'write' || access === 'read');
}

function coversPartition(granted: string, wanted: string): boolean {
  return granted === '*' || granted.toLowerCase() === wanted.toLowerCase();
}

function matchesPattern(pattern: string, name: string): boolean {
  const wanted = name.toLowerCase();
  const given = pattern.toLowerCase();
  return given.endsWith('*') ? wanted.startsWith(given.slice(0, -1)) : wanted === given;
}

/** Whether `outer` matches every name that `inner` matches. */
function coversPattern(outer: string, inner: string): boolean {
  if (!inner.endsWith('*')) return matchesPattern(outer, inner);
  return outer.endsWith('*') && inner.toLowerCase().startsWith(outer.slice(0, -1).toLowerCase());
}
