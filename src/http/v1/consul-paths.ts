/**
 * The paths of Consul's HTTP API. With `compat: consul` a path of this list that Accord does not serve returns 501,
 * because Consul's clients read 404 as "no such item" ([V1-98]).
 */
import type { Call } from '../call.ts';
import { matchesPath } from '../endpoint.ts';
import { ServiceError } from '../errors.ts';
import { QUOTED_LENGTH_MAX } from '../limits.ts';

/** By the first segment after `/v1/`. A segment that begins with a colon matches any, and a final `*` the rest. */
const CONSUL_PATHS: Readonly<Record<string, readonly string[]>> = {
  acl: [
    'auth-method',
    'auth-method/:name',
    'auth-methods',
    'authorize',
    'binding-rule',
    'binding-rule/:id',
    'binding-rules',
    'bootstrap',
    'clone/:id',
    'create',
    'destroy/:id',
    'info/:id',
    'list',
    'login',
    'logout',
    'policies',
    'policy',
    'policy/:id',
    'policy/name/:name',
    'replication',
    'role',
    'role/:id',
    'role/name/:name',
    'roles',
    'rules/translate',
    'rules/translate/:accessor',
    'templated-policies',
    'templated-policy/name/:name',
    'templated-policy/preview/:name',
    'token',
    'token/:accessor',
    'token/:accessor/clone',
    'tokens',
    'update',
  ],
  agent: [
    'check/deregister/:id',
    'check/fail/:id',
    'check/pass/:id',
    'check/register',
    'check/update/:id',
    'check/warn/:id',
    'checks',
    'connect/authorize',
    'connect/ca/leaf/:service',
    'connect/ca/roots',
    'force-leave/:node',
    'health/service/id/:id',
    'health/service/name/:name',
    'host',
    'join/:address',
    'leave',
    'maintenance',
    'members',
    'metrics',
    'metrics/stream',
    'monitor',
    'reload',
    'self',
    'service/:id',
    'service/deregister/:id',
    'service/maintenance/:id',
    'service/register',
    'services',
    'token/:kind',
    'version',
  ],
  catalog: [
    'connect/:service',
    'datacenters',
    'deregister',
    'gateway-services/:gateway',
    'node-services/:node',
    'node/:node',
    'nodes',
    'register',
    'service/:service',
    'services',
  ],
  config: ['', ':kind', ':kind/:name'],
  connect: [
    'ca/configuration',
    'ca/roots',
    'intentions',
    'intentions/:id',
    'intentions/check',
    'intentions/exact',
    'intentions/match',
  ],
  coordinate: ['datacenters', 'node/:node', 'nodes', 'update'],
  'discovery-chain': [':service'],
  event: ['fire/:name', 'list'],
  'exported-services': [''],
  health: ['checks/:service', 'connect/:service', 'ingress/:service', 'node/:node', 'service/:service', 'state/:state'],
  'imported-services': [''],
  internal: ['*'],
  kv: ['*'],
  namespace: ['', ':name'],
  namespaces: [''],
  operator: [
    'area',
    'area/*',
    'autopilot/configuration',
    'autopilot/health',
    'autopilot/state',
    'keyring',
    'license',
    'raft/configuration',
    'raft/peer',
    'raft/transfer-leader',
    'segment',
    'usage',
    'utilization',
  ],
  partition: ['', ':name'],
  partitions: [''],
  peering: [':name', 'establish', 'token'],
  peerings: [''],
  query: ['', ':id', ':id/execute', ':id/explain'],
  session: ['create', 'destroy/:id', 'info/:id', 'list', 'node/:node', 'renew/:id'],
  snapshot: [''],
  status: ['leader', 'peers'],
  txn: [''],
};

/** Whether Consul serves the path. */
export function isConsulPath(path: string): boolean {
  const [, version, area = '', ...rest] = path.split('/');
  if (version !== 'v1' || !Object.hasOwn(CONSUL_PATHS, area)) return false;
  const below = rest.join('/');
  return (CONSUL_PATHS[area] ?? []).some((pattern) =>
    pattern.endsWith('*') ? below.startsWith(pattern.slice(0, -1)) : matchesPath(pattern, below),
  );
}

/** Rejects a request to a path of Consul that no endpoint has. @throws ServiceError `not-implemented` */
export function rejectUnservedConsulPath({ request }: Call, pathIsServed: boolean): void {
  const path = request.url?.split('?', 1)[0] ?? '';
  if (pathIsServed || !isConsulPath(path)) return;
  const quoted = JSON.stringify(path.slice(0, QUOTED_LENGTH_MAX));
  const text = `${quoted} is a path of Consul's API that Accord does not serve, so this says nothing about the item`;
  throw new ServiceError('not-implemented', text);
}
