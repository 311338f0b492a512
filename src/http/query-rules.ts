/**
 * The query parameters that a request may have. A parameter that selects data is applied or refused, because a caller
 * that believes an ignored filter acts on the wrong items. An endpoint accepts the parameters that it declares.
 */
import { type Call, parameterFamily } from './call.ts';
import type { Endpoint } from './endpoint.ts';

/** Returns the families of every parameter that one of the endpoints declares. */
export const declaredFamilies = (endpoints: readonly Endpoint[]): ReadonlySet<string> =>
  new Set(endpoints.flatMap(({ query = [] }) => query.map(({ name }) => parameterFamily(name))));

/**
 * Returns the first parameter of a request that belongs to one of the `selecting` families and that the endpoint does
 * not declare. Other unknown parameters are ignored, because clients add some that change nothing.
 */
export function undeclaredParameter(
  { query, route }: Pick<Call, 'query' | 'route'>,
  isSelecting: (family: string) => boolean,
): string | undefined {
  if (query.size === 0) return undefined;
  for (const name of query.keys()) if (!route.query.includes(name) && isSelecting(parameterFamily(name))) return name;
  return undefined;
}
