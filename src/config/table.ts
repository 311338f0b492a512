/**
 * The table of settings: key, kind, default, and meaning. Variable and flag names derive from the key. docs/settings.md
 * is generated from this table. Durations are in milliseconds, sizes in bytes.
 */
import { boolean, byteSize, duration, integer, list, oneOf, orOff, path, text } from './kinds.ts';
import { dnsName, hostPort, network, origin } from './network-kinds.ts';
import { aclToken, dataKey, password, userToken } from './secrets.ts';
import { type ConfigOf, optional, required, type Setting, secret } from './setting.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const KIB = 2 ** 10;
const MIB = 2 ** 20;
const GIB = 2 ** 30;

const listener = hostPort({ portMin: 0 });
const dialed = hostPort({ portMin: 1 });
const count = integer({ min: 1, max: 10_000_000 });
const optionalList = { emptyAllowed: true };
const filledList = { emptyAllowed: false };

/** Node names are keys in the store and labels in metrics. */
const nodeName = text(/^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9])?$/, '1 to 128 letters, digits, dots, - or _');
/** The datacenter is a label of the server name in certificates. */
const datacenter = text(/^[a-z0-9](?:[a-z0-9_-]{0,61}[a-z0-9])?$/, '1 to 63 of a-z, 0-9, - or _');
/** The trailing slash separates `accord/` from `accord-test/` in a shared etcd. */
const etcdPrefix = text(/^[!-~]{0,127}\/$/, 'up to 128 printable characters ending in /');

export const settings = {
  'data-key-file': secret(
    dataKey,
    'File with 32 bytes in base64. Encrypts private keys and stream secrets in the store and in exports.',
  ),
  services: required(
    list(oneOf('peering', 'team-access'), filledList),
    'peering,team-access',
    'The services that this server serves.',
  ),
  'data-dir': required(path, './accord-data', 'Directory of the database and the first credentials.'),
  store: required(oneOf('sqlite', 'etcd'), 'sqlite', 'Store of the state: sqlite for one server, etcd for several.'),

  'etcd.endpoints': required(
    list(origin, filledList),
    'http://127.0.0.1:2379',
    'The members of the etcd cluster; all http or all https.',
  ),
  'etcd.ca': optional(path, 'File with the CA certificates of etcd; reloaded when it changes.', "the system's"),
  'etcd.cert': optional(path, 'File with the client certificate for etcd; reloaded when it changes.'),
  'etcd.key': optional(path, 'File with the private key of etcd.cert; reloaded when it changes.'),
  'etcd.prefix': required(
    etcdPrefix,
    'accord/',
    'Prefix of all keys in etcd; must not be part of the prefix of another cluster.',
  ),
  'etcd.username': optional(text(/^\P{Cc}+$/u, 'a name'), 'User name for the authentication of etcd.'),
  'etcd.password-file': secret(password, 'File with the password of etcd.username.'),
  'etcd.max-txn-ops': required(
    integer({ min: 16, max: 1_000_000 }),
    '128',
    'Largest number of operations in one transaction (--max-txn-ops of etcd).',
  ),
  'etcd.max-txn-bytes': required(
    byteSize({ min: 64 * KIB, max: GIB }),
    '1 MiB',
    'Largest size of one transaction; must be below --max-request-bytes of etcd.',
  ),
  'etcd.quota': required(
    byteSize({ min: 16 * MIB, max: 1_024 * GIB }),
    '2 GiB',
    'Quota of etcd (--quota-backend-bytes of etcd), for versions before 3.6, which do not report it.',
  ),
  'etcd.compact': required(
    orOff(duration({ min: MINUTE, max: 7 * DAY })),
    '10m',
    'Accord compacts etcd history that is older than this; off if other programs use the same etcd.',
  ),

  'node.lease': required(
    duration({ min: 2 * SECOND, max: 10 * MINUTE, step: SECOND }),
    '10s',
    'Time after which a server that does not renew its lease counts as dead.',
  ),
  'node.name': required(
    nodeName,
    { shown: "the host's name", of: (host) => host.name },
    'Name of this server; unique in the cluster.',
  ),

  'dns.address': required(orOff(listener), 'off', 'Address of the DNS listener.'),
  'dns.domain': required(dnsName, 'accord', 'Domain that the DNS listener answers for.'),
  'dns.ttl': required(
    duration({ min: SECOND, max: 7 * DAY, step: SECOND, zero: 'no caching' }),
    '0',
    'How long clients may cache DNS answers.',
  ),
  'dns.token-file': secret(aclToken, 'File with the ACL token that applies to DNS queries.'),

  'audit.retention': required(duration({ min: HOUR, max: 3650 * DAY }), '14d', 'How long audit entries are kept.'),
  'state.rows-max': required(
    integer({ min: 1_000, max: 1_000_000_000 }),
    '2000000',
    'Largest number of rows, whatever their size; above it, writes that add rows are rejected. The memory may allow fewer.',
  ),
  'stale.max-age': required(
    duration({ min: SECOND, max: DAY }),
    '10m',
    'How long stale reads are answered while the store is unreachable.',
  ),

  'http.address': required(listener, '127.0.0.1:8500', 'Address of the listener of both APIs.'),
  'http.tls-cert': optional(path, 'File with the certificate chain for HTTPS; reloaded when it changes.'),
  'http.tls-key': optional(path, 'File with the private key of http.tls-cert; reloaded when it changes.'),
  'http.allowed-origins': required(
    list(origin, optionalList),
    'none',
    "Web origins, besides the server's own, whose pages may call the APIs.",
  ),

  'peering.address': required(listener, '127.0.0.1:8503', 'Address of the listener for peer streams.'),
  'peering.advertise': optional(
    list(dialed, filledList),
    'Addresses in peering tokens, where other clusters reach this one.',
    'peering.address',
  ),
  'peering.deny-networks': required(
    list(network, optionalList),
    '169.254.0.0/16,fe80::/10,fd00:ec2::254/128,fd20:ce::254/128,100.100.100.200/32,168.63.129.16/32,192.0.0.192/32',
    'Networks that this server never connects to as a peer: link-local addresses and metadata services of clouds.',
  ),
  'peering.token-ttl': required(
    duration({ min: MINUTE, max: 3650 * DAY, zero: 'never' }),
    '7d',
    'Time after which an unused peering token expires.',
  ),
  'peering.heartbeat-interval': required(
    duration({ min: SECOND, max: HOUR }),
    '15s',
    'Interval of heartbeats on a peer stream.',
  ),
  'peering.heartbeat-timeout': required(
    duration({ min: 2 * SECOND, max: DAY }),
    '2m',
    'Time without a message after which a peer stream counts as dead.',
  ),

  'cluster.datacenter': required(
    datacenter,
    'dc1',
    'Remote.Datacenter in other clusters; cannot change after the first start.',
  ),
  'cluster.edition': required(
    oneOf('enterprise', 'community'),
    'enterprise',
    'enterprise has partitions; community has none.',
  ),
  'acl.enabled': required(boolean, 'true', 'Whether requests to /v1 need a token with grants.'),
  'acl.default-policy': required(
    oneOf('deny', 'allow'),
    'deny',
    'Decision for requests that no grant covers. Never allows acl and operator requests.',
  ),
  'team-access.rate-limit': required(
    integer({ min: 4, max: 1_000_000, zero: 'off' }),
    '30',
    'Requests per second of each user of team access; reloaded on SIGHUP.',
  ),
  'team-access.invitations': required(
    oneOf('automatic', 'accept'),
    'automatic',
    'Whether a person with an account joins an organization at once when they are added, or by accepting.',
  ),
  compat: required(
    list(oneOf('consul', 'terraform'), optionalList),
    'none',
    'Products whose clients the server supports with additional fields and headers.',
  ),
  'bootstrap.acl-token-file': secret(
    aclToken,
    'File with the secret ID of the first ACL token, a UUID; read only for an empty state.',
    'generated',
  ),
  'bootstrap.admin-token-file': secret(
    userToken,
    'File with the first token of the site administrator, 14 letters and digits, .atlasv1., and 67 more; read only for an empty state.',
    'generated',
  ),

  'limits.connections': required(count, '20000', 'Largest number of open connections; further ones are closed.'),
  'limits.connections-per-address': required(
    count,
    '2000',
    'Largest number of open connections, and of open blocking queries, per client address.',
  ),
  'limits.rate-per-token': required(
    integer({ min: 1, max: 1_000_000, zero: 'off' }),
    '2000',
    'Requests per second to /v1 of each token, and of each address without one; reloaded on SIGHUP.',
  ),
  'limits.waiting': required(
    count,
    '20000',
    'Largest number of open blocking queries; a tenth is reserved for operators.',
  ),
  'limits.waiting-per-token': required(count, '2000', 'Largest number of open blocking queries per token.'),
  'limits.bodies': required(
    byteSize({ min: KIB, max: 64 * GIB }),
    '64 MiB',
    'Largest size of all request bodies in progress together; at least limits.bulk-body.',
  ),
  'limits.body': required(byteSize({ min: KIB, max: GIB }), '1 MiB', 'Largest body of a request.'),
  'limits.bulk-body': required(
    byteSize({ min: KIB, max: GIB }),
    '16 MiB',
    'Largest body of operations and complete sets.',
  ),
  'limits.rows-per-organization': required(
    count,
    '500000',
    'Largest number of rows of one organization, but at most half of what the state can hold. A row counts once for each 2 KiB.',
  ),
  'limits.rows-per-user': required(
    count,
    '500000',
    'Largest number of rows of all organizations that one user created, but at most half of what the state can hold; site administrators are exempt.',
  ),
  'limits.organizations-per-user': required(
    count,
    '100',
    'Largest number of organizations that one user creates; site administrators are exempt.',
  ),
  'limits.rows-per-partition': required(
    count,
    '1000000',
    'Largest number of rows of one partition, but at most nine tenths of what the state can hold. A row counts once for each 2 KiB.',
  ),
  'limits.write-rate': required(
    orOff(byteSize({ min: KIB, max: GIB })),
    '1 MiB',
    'Bytes per second that each ACL token or user writes to the store, and 60 times as many at once; operators are exempt.',
  ),
  'limits.peerings': required(count, '10000', 'Largest number of peerings.'),
  'limits.streams': required(count, '2000', 'Largest number of open peer streams.'),
  'limits.stream-handshake': required(
    duration({ min: SECOND, max: 10 * MINUTE }),
    '10s',
    'Time in which a peer stream must authenticate.',
  ),

  'log.level': required(
    oneOf('trace', 'debug', 'info', 'warn', 'error'),
    'info',
    'Lowest level that is logged; reloaded on SIGHUP.',
  ),
  'log.format': required(
    oneOf('text', 'json'),
    { shown: 'text on a terminal, json otherwise', of: (host) => (host.isTerminal ? 'text' : 'json') },
    'Format of log lines.',
  ),
  'shutdown.grace': required(
    duration({ min: SECOND, max: HOUR, zero: 'at once' }),
    '10s',
    'Time for requests in flight to finish when the server stops.',
  ),
} as const satisfies Record<string, Setting>;

export type SettingKey = keyof typeof settings;

/** The validated settings: nested, deeply frozen, with durations in milliseconds and sizes in bytes. */
export type Config = ConfigOf<typeof settings>;

export const settingKeys = Object.keys(settings) as readonly SettingKey[];

/** Returns the setting under `key`, without its specific type. */
export const settingOf = (key: SettingKey): Setting => settings[key] as Setting;

export const isSettingKey = (name: string): name is SettingKey => Object.hasOwn(settings, name);

/** `http.address` → `ACCORD_HTTP_ADDRESS`. */
export const variableOf = (key: string): string => `ACCORD_${key.replaceAll(/[.-]/g, '_').toUpperCase()}`;

/** `http.address` → `--http-address`. */
export const flagOf = (key: string): string => `--${key.replaceAll('.', '-')}`;

/** `data-key-file` → `ACCORD_DATA_KEY`, the variable that holds the secret itself. */
export const secretVariableOf = (key: SettingKey): string | undefined =>
  settingOf(key).presence === 'secret' ? variableOf(key.replace(/-file$/, '')) : undefined;

/** Returns the text of a default: the value, or a description of a computed one. */
export function defaultShown(setting: Setting): string {
  if (setting.presence !== 'required') return setting.absentText;
  return typeof setting.defaultText === 'string' ? setting.defaultText : setting.defaultText.shown;
}
