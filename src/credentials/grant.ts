/**
 * Grants of ACL tokens, and what they cover; pure. Rules: peering-decisions, "Tokens of the caller".
 *
 * A grant gives `read` or `write` (which includes read) on one resource in one partition or in all (`*`), for some
 * resources limited to names (`east`, `prod-*`). Names and partitions are compared without regard to case, as DNS does.
 */
import { type Static, Type } from 'typebox';
import type { DeepReadonly } from '../state/table.ts';

export const RESOURCES = ['peering', 'services', 'config', 'acl', 'operator'] as const;
export type Resource = (typeof RESOURCES)[number];
export type Access = 'read' | 'write';

export const grantSchema = Type.Object(
  {
    Resource: Type.Enum([...RESOURCES]),
    Access: Type.Enum(['read', 'write']),
    Partition: Type.String({ description: "A partition's name, or * for all." }),
    Names: Type.Optional(Type.Array(Type.String(), { description: 'Exact names, or prefix*; absent: all names.' })),
  },
  { title: 'Grant' },
);

export type Grant = DeepReadonly<Static<typeof grantSchema>>;

/** What a caller wants to do. */
export interface Permission {
  readonly resource: Resource;
  readonly access: Access;
  /** A partition's name, or `*` for something that spans all of them. */
  readonly partition: string;
  /** The name it is done to; absent: something that no name limits, so only a grant without names gives it. */
  readonly name?: string;
}

/** Every permission there is: what the first credentials hold. */
export const EVERYTHING: readonly Grant[] = RESOURCES.map((Resource) => ({
  Resource,
  Access: 'write',
  Partition: '*',
}));

/** Resources whose things have names that a grant can be limited to. */
export const NAMED_RESOURCES: ReadonlySet<Resource> = new Set(['peering', 'services', 'config']);

/** Whether some grant gives the permission. */
export function permits(grants: readonly Grant[], { resource, access, partition, name }: Permission): boolean {
  return grants.some(
    (grant) =>
      givesAccess(grant, resource, access) &&
      spans(grant.Partition, partition) &&
      (grant.Names === undefined || (name !== undefined && grant.Names.some((pattern) => matches(pattern, name)))),
  );
}

/** Whether some grant gives the access to at least one name in the partition: such a caller may list, and sees part. */
export function permitsSome(grants: readonly Grant[], resource: Resource, access: Access, partition: string): boolean {
  return grants.some((grant) => givesAccess(grant, resource, access) && spans(grant.Partition, partition));
}

/** Whether who holds `held` may give `wanted` away: everything that it permits is permitted to them already. */
export function covers(held: readonly Grant[], wanted: Grant): boolean {
  const candidates = held.filter(
    (grant) => givesAccess(grant, wanted.Resource, wanted.Access) && spans(grant.Partition, wanted.Partition),
  );
  if (candidates.some((grant) => grant.Names === undefined)) return true;
  if (wanted.Names === undefined) return false;
  return wanted.Names.every((name) =>
    candidates.some((grant) => grant.Names?.some((pattern) => includes(pattern, name))),
  );
}

function givesAccess(grant: Grant, resource: Resource, access: Access): boolean {
  return grant.Resource === resource && (grant.Access === 'write' || access === 'read');
}

function spans(granted: string, wanted: string): boolean {
  return granted === '*' || granted.toLowerCase() === wanted.toLowerCase();
}

function matches(pattern: string, name: string): boolean {
  const wanted = name.toLowerCase();
  const given = pattern.toLowerCase();
  return given.endsWith('*') ? wanted.startsWith(given.slice(0, -1)) : wanted === given;
}

/** Whether every name that `inner` matches is matched by `outer`. */
function includes(outer: string, inner: string): boolean {
  if (!inner.endsWith('*')) return matches(outer, inner);
  return outer.endsWith('*') && inner.toLowerCase().startsWith(outer.slice(0, -1).toLowerCase());
}
