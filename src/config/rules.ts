/** Rules across settings, and warnings about risky settings. */
import { accessSync, constants } from 'node:fs';
import { formatHostPort, type HostPort, isLoopback, isWildcard } from './network-kinds.ts';
import { type Config, type SettingKey, settingKeys } from './table.ts';

/** A setting that contradicts another one. `wanted` ends the sentence "want …". */
export interface RuleViolation {
  readonly key: SettingKey;
  readonly wanted: string;
}

/** Checks all values. `isSet` is whether a value was given and is not a default. */
type Rule = (config: Config, isSet: (key: SettingKey) => boolean) => RuleViolation | undefined;

/** Settings that need each other. */
const pairs = [
  ['http.tls-cert', 'http.tls-key'],
  ['etcd.cert', 'etcd.key'],
  ['etcd.username', 'etcd.password-file'],
] as const;

const bothOrNone: Rule = (_, isSet) => {
  for (const [one, other] of pairs) {
    if (isSet(one) && !isSet(other)) return { key: one, wanted: `${other} as well` };
    if (isSet(other) && !isSet(one)) return { key: other, wanted: `${one} as well` };
  }
  return undefined;
};

/** Returns the first given setting under `prefix`, other than `except`. */
const firstSet = (prefix: string, isSet: (key: SettingKey) => boolean, except?: SettingKey): SettingKey | undefined =>
  settingKeys.find((key) => key.startsWith(prefix) && key !== except && isSet(key));

const etcdOnlyWithEtcd: Rule = ({ store }, isSet) => {
  const key = store === 'etcd' ? undefined : firstSet('etcd.', isSet);
  return key && { key, wanted: 'store: etcd as well, or no etcd settings' };
};

const dnsOnlyWithAddress: Rule = ({ dns }, isSet) => {
  const key = dns.address === 'off' ? firstSet('dns.', isSet, 'dns.address') : undefined;
  return key && { key, wanted: 'dns.address as well, or no dns settings' };
};

const etcdSchemes: Rule = ({ etcd }, isSet) => {
  const secureCount = etcd.endpoints.filter((endpoint) => endpoint.startsWith('https:')).length;
  if (secureCount !== 0 && secureCount !== etcd.endpoints.length) {
    return { key: 'etcd.endpoints', wanted: 'all http or all https' };
  }
  const key = (['etcd.ca', 'etcd.cert'] as const).find((file) => secureCount === 0 && isSet(file));
  return key && { key, wanted: 'etcd.endpoints with https as well' };
};

const peeringCanBeDialed: Rule = ({ services, peering }) => {
  if (!services.includes('peering')) return undefined;
  if (peering.advertise?.some(({ host }) => isWildcard(host))) {
    return { key: 'peering.advertise', wanted: 'addresses that other clusters can dial, which a wildcard is not' };
  }
  if (peering.advertise !== undefined || !isWildcard(peering.address.host)) return undefined;
  return { key: 'peering.address', wanted: 'peering.advertise as well, because no peer can dial a wildcard address' };
};

const heartbeats: Rule = ({ peering }) =>
  peering.heartbeatTimeout < 2 * peering.heartbeatInterval
    ? { key: 'peering.heartbeat-timeout', wanted: 'at least twice peering.heartbeat-interval: a heartbeat may be lost' }
    : undefined;

const limitsNest: Rule = ({ limits }, isSet) => {
  if (limits.body > limits.bulkBody) return { key: 'limits.body', wanted: 'at most limits.bulk-body' };
  if (isSet('limits.bodies') && limits.bulkBody > limits.bodies)
    return { key: 'limits.bodies', wanted: 'at least limits.bulk-body' };
  if (isSet('limits.connections-per-address') && limits.connectionsPerAddress > limits.connections) {
    return { key: 'limits.connections-per-address', wanted: 'at most limits.connections' };
  }
  return isSet('limits.waiting-per-token') && limits.waitingPerToken > limits.waiting
    ? { key: 'limits.waiting-per-token', wanted: 'at most limits.waiting' }
    : undefined;
};

/** Whether two listeners need the same port. Port 0 never conflicts. */
const collide = (a: HostPort, b: HostPort): boolean =>
  a.port !== 0 && a.port === b.port && (a.host === b.host || isWildcard(a.host) || isWildcard(b.host));

const listenersDiffer: Rule = ({ services, http, peering, dns }) => {
  const streams = services.includes('peering') ? peering.address : undefined;
  if (streams !== undefined && collide(http.address, streams)) {
    return { key: 'peering.address', wanted: `another port than http.address ${formatHostPort(http.address)}` };
  }
  const names = dns.address;
  const taken = names === 'off' ? undefined : [http.address, streams].find((other) => other && collide(names, other));
  return taken && { key: 'dns.address', wanted: `another port than ${formatHostPort(taken)}, which a listener uses` };
};

const filesReadable: Rule = ({ http, etcd }) => {
  const files = [
    ['http.tls-cert', http.tlsCert],
    ['http.tls-key', http.tlsKey],
    ['etcd.ca', etcd.ca],
    ['etcd.cert', etcd.cert],
    ['etcd.key', etcd.key],
  ] as const;
  for (const [key, file] of files) {
    try {
      if (file !== undefined) accessSync(file, constants.R_OK);
    } catch (error) {
      return { key, wanted: `a file that can be read (${(error as NodeJS.ErrnoException).code})` };
    }
  }
  return undefined;
};

const rules: readonly Rule[] = [
  bothOrNone,
  etcdOnlyWithEtcd,
  dnsOnlyWithAddress,
  etcdSchemes,
  peeringCanBeDialed,
  heartbeats,
  limitsNest,
  listenersDiffer,
  filesReadable,
];

export function firstViolation(config: Config, isSet: (key: SettingKey) => boolean): RuleViolation | undefined {
  for (const rule of rules) {
    const violation = rule(config, isSet);
    if (violation !== undefined) return violation;
  }
  return undefined;
}

/** Describes each risky but allowed setting, for the log. */
export function warningsOf({ http, acl, services, peering }: Config): readonly string[] {
  const warnings: string[] = [];
  if (!isLoopback(http.address.host) && http.tlsCert === undefined) {
    warnings.push(
      `http.address ${formatHostPort(http.address)} is not loopback and has no TLS: tokens cross the network in clear; ` +
        'set http.tls-cert and http.tls-key',
    );
  }
  if (!acl.enabled) warnings.push('acl.enabled is false: anyone who reaches http.address may do anything under /v1');
  else if (acl.defaultPolicy === 'allow') {
    warnings.push('acl.default-policy is allow: what no grant covers is allowed, without a token too');
  }
  const unreachable = services.includes('peering') && peering.advertise?.find(({ host }) => isLoopback(host));
  if (unreachable && !isLoopback(peering.address.host)) {
    warnings.push(`peering.advertise ${formatHostPort(unreachable)} is loopback: no other machine can dial it`);
  }
  return warnings;
}
