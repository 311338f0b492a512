/** Related resources in a document: the `include` parameter, included resources, and the linkage of relationships. */
import { Type } from 'typebox';
import type { Query } from '../../http/call.ts';
import type { Parameter } from '../../http/parameter.ts';
import { INCLUDED_MAX, LINKAGE_MAX } from '../limits.ts';
import type { Resource } from './documents.ts';
import { JsonApiError } from './errors.ts';

export const includeParameter = (names: readonly string[]): Parameter => ({
  name: 'include',
  description: `Related resources to include, separated by commas: ${names.join(', ')}. Contains only what the caller may read.`,
  schema: Type.String(),
});

/** The detail of a request for an unknown relationship. go-tfe recognizes it and repeats the request without `include`. */
export const INVALID_INCLUDE = 'Invalid include parameter';

/** Returns the requested relationships. @throws JsonApiError `bad-request` for any name other than `names` */
export function readInclude<Name extends string>(query: Query, names: readonly Name[]): ReadonlySet<Name> {
  const requested = (query.get('include') ?? '').split(',').filter((name) => name !== '');
  const known = requested.filter((name): name is Name => (names as readonly string[]).includes(name));
  if (known.length === requested.length) return new Set(known);
  throw new JsonApiError([
    { code: 'bad-request', detail: INVALID_INCLUDE, parameter: 'include', meta: { known: names.join(', ') } },
  ]);
}

export interface Included {
  /** Adds a resource unless it was added before, because many primary resources can refer to the same few. */
  add(type: string, id: string, toJson: () => Resource): void;
  /** Returns the resources in the order in which they were added. */
  all(): readonly Resource[];
}

/**
 * Returns an empty collection for a document with `primaryCount` primary resources. With more than one, `add` throws
 * JsonApiError `bad-request` after INCLUDED_MAX resources, because JSON:API cannot include only some. With one, there
 * is no limit, because no page could be smaller.
 */
export function collectIncluded(primaryCount: number): Included {
  const maximum = primaryCount > 1 ? INCLUDED_MAX : Number.POSITIVE_INFINITY;
  const byIdentifier = new Map<string, Resource>();
  return {
    add(type, id, toJson) {
      const identifier = `${type}/${id}`;
      if (byIdentifier.has(identifier)) return;
      if (byIdentifier.size === maximum) throw tooManyIncluded();
      byIdentifier.set(identifier, toJson());
    },
    all: () => [...byIdentifier.values()],
  };
}

const tooManyIncluded = (): JsonApiError => {
  const detail = `include would bring more than ${INCLUDED_MAX} resources along: ask for pages, with page[size]`;
  return new JsonApiError([{ code: 'bad-request', detail, parameter: 'include' }]);
};

/** A to-many relationship: identifiers, or only their number. */
export interface ToManyRelationship {
  readonly data?: readonly { readonly id: string; readonly type: string }[];
  readonly meta?: { readonly count: number };
}

export type Linkage = (type: string, ids: readonly string[]) => ToManyRelationship;

/** The linkage of a document with one resource, which contains all identifiers. */
export const fullLinkage: Linkage = (type, ids) => ({ data: ids.map((id) => ({ id, type })) });

/**
 * Returns the linkage of one document with several resources. A relationship that would exceed LINKAGE_MAX identifiers
 * in the document contains only its count. The document of the resource alone contains the identifiers.
 */
export function boundedLinkage(): Linkage {
  let remaining = LINKAGE_MAX;
  return (type, ids) => {
    if (ids.length > remaining) return { meta: { count: ids.length } };
    remaining -= ids.length;
    return fullLinkage(type, ids);
  };
}
