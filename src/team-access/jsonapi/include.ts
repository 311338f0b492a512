/** `include`: which related resources an answer brings along. */
import { Type } from 'typebox';
import type { Parameter } from '../../http/parameter.ts';
import type { Query } from '../../http/query.ts';
import { INCLUDED_MAX } from '../limits.ts';
import type { Resource } from './documents.ts';
import { JsonApiError } from './errors.ts';

/** The parameter of an endpoint that can include `names`, for the API description. */
export const includeParameter = (names: readonly string[]): Parameter => ({
  name: 'include',
  description: `What to bring along, separated by commas: ${names.join(', ')}. Only what the caller may read.`,
  schema: Type.String(),
});

/** What is to be included. @throws JsonApiError `bad-request` for anything but `names` */
export function readInclude<Name extends string>(query: Query, names: readonly Name[]): ReadonlySet<Name> {
  const wanted = (query.get('include') ?? '').split(',').filter((name) => name !== '');
  const known = wanted.filter((name): name is Name => (names as readonly string[]).includes(name));
  if (known.length === wanted.length) return new Set(known);
  throw new JsonApiError([{ code: 'bad-request', detail: 'Invalid include parameter', parameter: 'include' }]);
}

/** What an answer brings along. */
export interface Included {
  /** Brings a resource along, and shows it unless it is there already: many resources can lead to the same few. */
  add(type: string, id: string, show: () => Resource): void;
  /** In the order in which they were added, each once. */
  all(): readonly Resource[];
}

/**
 * Nothing yet. In an answer about `shown` resources `add` throws JsonApiError `bad-request` past INCLUDED_MAX: JSON:API has
 * no way to bring only some. An answer about one has all that it leads to: no page of it could be smaller.
 */
export function createIncluded(shown: number): Included {
  const most = shown > 1 ? INCLUDED_MAX : Number.POSITIVE_INFINITY;
  const byName = new Map<string, Resource>();
  return {
    add(type, id, show) {
      const name = `${type}/${id}`;
      if (byName.has(name)) return;
      if (byName.size === most) throw tooMany();
      byName.set(name, show());
    },
    all: () => [...byName.values()],
  };
}

const tooMany = (): JsonApiError => {
  const detail = `include would bring more than ${INCLUDED_MAX} resources along: ask for pages, with page[size]`;
  return new JsonApiError([{ code: 'bad-request', detail, parameter: 'include' }]);
};
