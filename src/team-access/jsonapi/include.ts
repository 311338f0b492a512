/** `include`: which related resources an answer brings along. */
import { Type } from 'typebox';
import type { Parameter } from '../../http/parameter.ts';
import type { Query } from '../../http/query.ts';
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

/** Resources without those that stand twice, in order. */
export function eachOnce(resources: Iterable<Resource>): readonly Resource[] {
  const byId = new Map<string, Resource>();
  for (const resource of resources) byId.set(`${resource.type}/${resource.id}`, resource);
  return [...byId.values()];
}
