/**
 * The query parameters of `/v1` that Consul's clients send to select data. An endpoint that does not declare one refuses
 * it ([V1-15]). Consul's words are kept where clients show them.
 */
import type { Call } from '../call.ts';
import type { Endpoint } from '../endpoint.ts';
import { ServiceError } from '../errors.ts';
import { declaredFamilies, undeclaredParameter } from '../query-rules.ts';
import { CACHED, CONSISTENT, INDEX, PARTITION, PRETTY, STALE, WAIT } from './parameters.ts';

/** Selecting parameters of Consul, in addition to those that endpoints of `/v1` declare. */
const CONSUL_SELECTING = [
  ...['filter', 'node-meta', 'tag', 'passing', 'peer', 'prefix', 'segment', 'cas', 'state'],
  ...['policy', 'role', 'authmethod', 'authmethod-ns', 'servicename'],
];

/** Parameters that every endpoint accepts, because clients add them to every request. */
const COMMON: ReadonlySet<string> = new Set(
  [PARTITION, INDEX, WAIT, CONSISTENT, STALE, CACHED, PRETTY].map(({ name }) => name),
);

/** Parameters that no endpoint supports, with the reason. They are accepted without a value. */
const UNSUPPORTED: readonly (readonly [name: string, reason: string])[] = [
  ['near', 'this server measures no distances between nodes'],
  ['sg', 'Sameness Groups are a Consul Enterprise feature'],
];

/** The only namespace, which clients may name. */
const NAMESPACE = 'default';

export interface V1QueryRules {
  /** Returns the endpoint with a check of the query before its handler. */
  checked(endpoint: Endpoint): Endpoint;
}

/**
 * @param endpoints the endpoints of the server. Read at the first request, so that later additions count.
 * @param datacenterOf returns the server's datacenter
 */
export function v1QueryRules(endpoints: readonly Endpoint[], datacenterOf: () => string): V1QueryRules {
  let families: ReadonlySet<string> | undefined;
  const isSelecting = (family: string): boolean => {
    families ??= new Set([
      ...declaredFamilies(endpoints.filter(({ path }) => path.startsWith('/v1/'))),
      ...CONSUL_SELECTING,
    ]);
    return !COMMON.has(family) && families.has(family);
  };
  return {
    checked: (endpoint) => ({
      ...endpoint,
      handle(call) {
        checkPlace(call, datacenterOf);
        const name = undeclaredParameter(call, isSelecting);
        if (name !== undefined) throw unsupported(name, `this endpoint has ${call.route.query.join(', ') || 'none'}`);
        return endpoint.handle(call);
      },
    }),
  };
}

/** Refuses another datacenter, a namespace, and what no endpoint supports. @throws ServiceError `bad-request` */
function checkPlace({ query, request }: Call, datacenterOf: () => string): void {
  const namespaceHeader = request.headers['x-consul-namespace'];
  if (typeof namespaceHeader === 'string' && isForeign(namespaceHeader, NAMESPACE))
    throw new ServiceError(
      'bad-request',
      'Invalid header: "X-Consul-Namespace" - Namespaces are a Consul Enterprise feature',
    );
  if (query.size === 0) return;
  if (isForeign(query.get('dc'), datacenterOf()))
    throw new ServiceError('bad-request', 'No path to datacenter', { parameter: 'dc' });
  if (isForeign(query.get('ns'), NAMESPACE)) throw unsupported('ns', 'Namespaces are a Consul Enterprise feature');
  for (const [name, reason] of UNSUPPORTED) if ((query.get(name) ?? '') !== '') throw unsupported(name, reason);
}

const isForeign = (value: string | undefined, own: string): boolean =>
  value !== undefined && value !== '' && value.toLowerCase() !== own.toLowerCase();

const unsupported = (name: string, reason: string): ServiceError =>
  new ServiceError('bad-request', `Invalid query parameter: ${JSON.stringify(name)} - ${reason}`, { parameter: name });
