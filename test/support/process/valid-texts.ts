/** Facts that the schemas of the API omit: values that fields and parameters accept, and which fields a body needs. */
import type { Random } from '../random.ts';

/** Optional fields that the handler of an endpoint requires, or that give a body its effect. */
export const PRESENT_FIELDS: ReadonlySet<string> = new Set([
  ...['Node', 'Address', 'Service', 'PeerName', 'PeeringToken', 'Name', 'CheckID', 'Resource', 'Peer', 'Check', 'TTL'],
  ...['Consumers', 'access', 'ref', 'description', 'relationships', 'team'],
]);

/** Optional fields that need a value from elsewhere in the request, alone, in their object, or in a scope. */
export const ABSENT_FIELDS: ReadonlySet<string> = new Set([
  ...['AccessorID', 'ExpirationTime', 'CreateTime', 'SocketPath', 'TaggedAddresses', 'Definition', 'runs', 'variables'],
  ...['state-versions', 'policy-mocks', 'workspace-locking', 'run-tasks', 'ServiceTags', 'ContentHash', 'Interval'],
  ...['Timeout', 'lid', 'href', 'setting-overwrites', 'user-tokens-enabled', 'ExposedPort', 'Weights', 'workspace'],
  ...['Check.Node', 'Checks.Node', 'Check.ServiceID', 'Checks.ServiceID', 'Service.Datacenter', 'partition.Name'],
  ...['Service.ID', 'catalog.Checks', 'agent.Checks', 'agent.ID', 'agent.CheckID', 'links', 'max-ttl-enabled'],
  ...['auto-destroy-at', 'auto-destroy-activity-duration', 'source-url', 'trigger-prefixes', 'trigger-patterns'],
  ...['operations', 'inherits-project-auto-destroy', 'project', 'team-name', 'session-timeout', 'session-remember'],
]);

/** Where the value of a path parameter comes from, by the segment before it: names of `KnownStrings`. */
const PATH_SOURCES: Readonly<Record<string, readonly string[]>> = {
  'token/accessor': ['acl.AccessorID'],
  'partition/name': ['partitions.Name'],
  'peering/name': ['peering.PeerName', 'peerings.Name'],
  'node/name': ['catalog.Node'],
  'service/name': ['catalog.ServiceName', 'catalog.Service', 'agent.Name'],
  'kind/name': ['config.Name'],
  'deregister/id': ['agent.ID', 'agent.Name'],
  'pass/id': ['agent.CheckID'],
  'warn/id': ['agent.CheckID'],
  'fail/id': ['agent.CheckID'],
  'organizations/name': ['organizations.name'],
  'workspaces/workspace': ['workspaces.name'],
  'authentication-tokens/token': ['id:authentication-tokens'],
};

/** Returns the names of `KnownStrings` from which a path takes its parameter. */
export function pathSources(path: string, before: string, name: string): readonly string[] {
  // Other users see little of a user. Site administrators must not suspend the caller of most requests.
  if (before === 'users' && !path.includes('/admin/')) return ['id:self', 'id:users'];
  return PATH_SOURCES[`${before}/${name}`] ?? [`id:${before}`];
}

/** Values by field or parameter, alone or in a scope. */
const VALID: Readonly<Record<string, readonly string[]>> = {
  partition: ['default', 'default', 'eu'],
  'config.name': ['default', 'default', 'eu', 'web', 'db'],
  'config.partition': ['default'],
  'exported-services': ['default'],
  'service-intentions': ['web', 'db'],
  node: ['n1', 'n2', 'n3'],
  address: ['10.0.0.1', '10.0.0.2'],
  datacenter: ['dc1'],
  namespace: ['', 'default'],
  'catalog.peername': [''],
  'catalog.id': ['00000000-0000-4000-8000-00000000000a', '00000000-0000-4000-8000-00000000000b'],
  'catalog.kind': [''],
  'agent.kind': [''],
  'catalog.service': ['web', 'db', 'api'],
  'catalog.serviceid': ['web', 'db', 'api'],
  'agent.name': ['web', 'db', 'api'],
  'agent.id': ['web', 'db', 'api'],
  checkid: ['ttl', 'service:web', 'service:db'],
  'agent.checkid': ['ttl', 'service:web', 'service:db'],
  status: ['passing', 'warning', 'critical'],
  type: ['', 'ttl'],
  ttl: ['10s', '30s'],
  deregistercriticalserviceafter: ['1m', '2h'],
  tags: ['v1', 'primary'],
  tag: ['v1', 'primary'],
  'node-meta': ['zone:a', 'rack:1'],
  filter: [
    'Node == n1',
    'ServiceName == web',
    'Name == web',
    'v1 in ServiceTags',
    'not (Node matches `^n`)',
    'ID != ""',
  ],
  state: ['any', 'passing', 'warning', 'critical'],
  kind: ['exported-services', 'service-intentions'],
  description: ['a', ''],
  names: ['web', 'db', 'prod-*'],
  expirationttl: ['1h', '24h'],
  serverexternaladdresses: ['10.0.0.1:8503'],
  since: ['1h', '2026-01-01T00:00:00Z'],
  peer: ['east', 'west'],
  peername: ['east', 'west', 'north', 'south', 'p-1', 'p-2', 'p-3'],
  action: ['allow', 'deny'],
  'expires-at': ['2031-01-01T00:00:00Z'],
  'expired-at': ['2031-01-01T00:00:00Z'],
  'execution-mode': ['remote', 'local'],
  'default-execution-mode': ['remote', 'local'],
  'collaborator-auth-policy': ['password'],
  'terraform-version': ['1.9.0'],
  'team-name': ['visible', 'admins', 'idle'],
  'filter[status]': ['active', 'invited'],
  include: ['users', 'teams', 'user', 'team', 'workspace', 'organization-memberships'],
  'auto-destroy-activity-duration': ['14d'],
};

/** Fields of new resources whose values must not exist yet, or differ from each other. */
const FRESH = new Set([
  ...['username', 'email', 'organizations.name', 'teams.name', 'workspaces.name', 'authentication-tokens.description'],
]);

/** Returns values for the first known of `names`. */
export function validTexts(names: readonly string[], random: Random): readonly string[] | undefined {
  for (const name of names) {
    const key = name.toLowerCase();
    if (FRESH.has(key)) return [key === 'email' ? `m${random.below(5_000)}@b.example` : `new-${random.below(5_000)}`];
    const texts = VALID[key];
    if (texts !== undefined) return texts;
  }
  return undefined;
}
