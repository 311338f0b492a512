/**
 * Every setting: its key in the YAML file, what it takes, its default, its meaning. The variable and the flag follow
 * from the key. docs/settings.md is made from this table. Durations are milliseconds, sizes are bytes.
 */
import { boolean, byteSize, duration, integer, list, oneOf, orOff, path, text } from './kinds.ts';
import { dnsName, hostPort, origin } from './network-kinds.ts';
import { aclToken, dataKey, password, userToken } from './secrets.ts';
import { type ConfigOf, optional, required, type Setting, secret } from './setting.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const KIB = 2 ** 10;
const GIB = 2 ** 30;

const listener = hostPort({ portMin: 0 });
const dialled = hostPort({ portMin: 1 });
const count = integer({ min: 1, max: 10_000_000 });
const optionalList = { emptyAllowed: true };
const filledList = { emptyAllowed: false };

/** Names that become keys in the store and labels in metrics. */
const nodeName = text(/^[A-Za-z0-9](?:[A-Za-z0-9._-]{0,126}[A-Za-z0-9])?$/, '1 to 128 letters, digits, dots, - or _');
/** Becomes a label of the server name in certificates. */
const datacenter = text(/^[a-z0-9](?:[a-z0-9_-]{0,61}[a-z0-9])?$/, '1 to 63 of a-z, 0-9, - or _');
/** The slash keeps `accord` apart from `accord-test` in a shared etcd. */
const etcdPrefix = text(/^[!-~]{0,127}\/$/, 'up to 128 printable characters ending in /');

export const settings = {
  'data-key-file': secret(
    dataKey,
    'File with 32 bytes in base64: private keys and stream secrets are encrypted with it in the store and in exports.',
  ),
  services: required(
    list(oneOf('peering', 'team-access'), filledList),
    'peering,team-access',
    'The services that this server serves.',
  ),
  'data-dir': required(path, './accord-data', 'Folder of the database, the first credentials and the node id.'),
  store: required(
    oneOf('sqlite', 'etcd'),
    'sqlite',
    'Where the state is kept: sqlite for one server, etcd for several.',
  ),

  'etcd.endpoints': required(
    list(origin, filledList),
    'http://127.0.0.1:2379',
    'The members of the etcd cluster; all http or all https.',
  ),
  'etcd.ca': optional(path, 'File with the certificates that vouch for etcd.', "the system's"),
  'etcd.cert': optional(path, 'File with the certificate that this server shows to etcd.'),
  'etcd.key': optional(path, 'File with the private key of etcd.cert.'),
  'etcd.prefix': required(etcdPrefix, 'accord/', 'All keys in etcd lie under it.'),
  'etcd.username': optional(text(/^\P{Cc}+$/u, 'a name'), "Name for etcd's own authentication."),
  'etcd.password-file': secret(password, 'File with the password of etcd.username.'),
  'etcd.max-txn-ops': required(
    integer({ min: 16, max: 1_000_000 }),
    '128',
    'Operations that etcd takes in one transaction (its own --max-txn-ops).',
  ),
  'etcd.max-txn-bytes': required(
    byteSize({ min: 64 * KIB, max: GIB }),
    '1 MiB',
    'Bytes of one transaction; stay under the --max-request-bytes of etcd.',
  ),
  'etcd.compact': required(
    orOff(duration({ min: MINUTE, max: 7 * DAY })),
    '10m',
    'How much history etcd keeps before it is compacted; off where others use the same etcd.',
  ),

  'node.lease': required(
    duration({ min: 2 * SECOND, max: 10 * MINUTE, step: SECOND }),
    '10s',
    'How long a dead server is believed alive.',
  ),
  'node.name': required(
    nodeName,
    { shown: "the host's name", of: (host) => host.name },
    'Name of this server; no two in a cluster share one.',
  ),

  'dns.address': required(orOff(listener), 'off', 'Listener for discovery over DNS.'),
  'dns.domain': required(dnsName, 'accord', 'Domain that the DNS listener answers for.'),
  'dns.ttl': required(
    duration({ min: SECOND, max: 7 * DAY, step: SECOND, zero: 'ask every time' }),
    '0',
    'How long DNS answers may be kept.',
  ),
  'dns.token-file': secret(aclToken, 'File with the ACL token that DNS queries are answered with.'),

  'audit.retention': required(
    duration({ min: HOUR, max: 3650 * DAY }),
    '14d',
    'How long the record of who changed what is kept.',
  ),
  'state.rows-max': required(
    integer({ min: 1_000, max: 1_000_000_000 }),
    '2000000',
    'Rows that the state may hold; past it, writes that add rows are refused. What the memory holds may be less.',
  ),
  'stale.max-age': required(
    duration({ min: SECOND, max: DAY }),
    '10m',
    'How long stale reads are answered while the store cannot be reached.',
  ),

  'http.address': required(listener, '127.0.0.1:8500', 'Listener of both APIs.'),
  'http.tls-cert': optional(path, 'File with the certificate chain for HTTPS; read again when it changes.'),
  'http.tls-key': optional(path, 'File with the private key of http.tls-cert; read again when it changes.'),
  'http.allowed-origins': required(
    list(origin, optionalList),
    'none',
    "Origins other than the server's own whose pages may call the APIs from a browser.",
  ),

  'peering.address': required(listener, '127.0.0.1:8503', 'Listener for peer streams.'),
  'peering.advertise': optional(
    list(dialled, filledList),
    'Addresses that go into peering tokens: where other clusters reach this one.',
    'peering.address',
  ),
  'peering.token-ttl': required(
    duration({ min: MINUTE, max: 3650 * DAY, zero: 'never' }),
    '7d',
    'How long a peering token may wait to be used.',
  ),
  'peering.heartbeat-interval': required(
    duration({ min: SECOND, max: HOUR }),
    '15s',
    'How often each side of a peer stream says that it lives.',
  ),
  'peering.heartbeat-timeout': required(
    duration({ min: 2 * SECOND, max: DAY }),
    '2m',
    'Silence after which a peer stream counts as dead.',
  ),

  'cluster.datacenter': required(
    datacenter,
    'dc1',
    'Shown to other clusters as Remote.Datacenter; fixed at the first start.',
  ),
  'cluster.edition': required(
    oneOf('enterprise', 'community'),
    'enterprise',
    'community has no partitions, enterprise has.',
  ),
  'acl.enabled': required(boolean, 'true', 'Whether requests to /v1 need tokens with grants.'),
  'acl.default-policy': required(
    oneOf('deny', 'allow'),
    'deny',
    'What happens to a request that no grant covers; acl and operator are never allowed by it.',
  ),
  'team-access.rate-limit': required(
    integer({ min: 4, max: 1_000_000, zero: 'off' }),
    '30',
    'Requests a second for each user of team access; read again on SIGHUP.',
  ),
  compat: required(
    list(oneOf('consul', 'terraform'), optionalList),
    'none',
    'Existing clients whose habits are answered besides.',
  ),
  'bootstrap.acl-token-file': secret(
    aclToken,
    'File with the secret ID of the first ACL token, a UUID; read on an empty state only.',
    'generated',
  ),
  'bootstrap.admin-token-file': secret(
    userToken,
    'File with the first token of the site administrator, 14 letters and digits, .atlasv1., and 67 more; read on an empty state only.',
    'generated',
  ),

  'limits.connections': required(count, '20000', 'Open connections; more are closed.'),
  'limits.waiting': required(count, '20000', 'Blocking queries that wait.'),
  'limits.waiting-per-token': required(count, '20000', 'Blocking queries that wait with one token.'),
  'limits.body': required(byteSize({ min: KIB, max: GIB }), '1 MiB', 'Body of a request.'),
  'limits.bulk-body': required(byteSize({ min: KIB, max: GIB }), '16 MiB', 'Body of a request that carries many rows.'),
  'limits.peerings': required(count, '10000', 'Peerings.'),
  'limits.streams': required(count, '2000', 'Peer streams at once.'),
  'limits.stream-handshake': required(
    duration({ min: SECOND, max: 10 * MINUTE }),
    '10s',
    'Time in which a peer stream must say who it is.',
  ),

  'log.level': required(
    oneOf('trace', 'debug', 'info', 'warn', 'error'),
    'info',
    'What is logged, and everything above it; read again on SIGHUP.',
  ),
  'log.format': required(
    oneOf('text', 'json'),
    { shown: 'text on a terminal, json otherwise', of: (host) => (host.isTerminal ? 'text' : 'json') },
    'How log lines are written.',
  ),
  'shutdown.grace': required(
    duration({ min: SECOND, max: HOUR, zero: 'at once' }),
    '10s',
    'Time to finish what is under way when the server is asked to stop.',
  ),
} as const satisfies Record<string, Setting>;

export type SettingKey = keyof typeof settings;

/** The settings in force: nested, deeply frozen; durations in milliseconds, sizes in bytes. */
export type Config = ConfigOf<typeof settings>;

/** Every key, in the order of the table. */
export const settingKeys = Object.keys(settings) as readonly SettingKey[];

/** The setting under `key`, without its particular type. */
export const settingOf = (key: SettingKey): Setting => settings[key] as Setting;

/** Whether `name` is the key of a setting. */
export const isSettingKey = (name: string): name is SettingKey => Object.hasOwn(settings, name);

/** `http.address` → `ACCORD_HTTP_ADDRESS`. */
export const variableOf = (key: string): string => `ACCORD_${key.replaceAll(/[.-]/g, '_').toUpperCase()}`;

/** `http.address` → `--http-address`. */
export const flagOf = (key: string): string => `--${key.replaceAll('.', '-')}`;

/** `data-key-file` → `ACCORD_DATA_KEY`, the variable that holds the secret itself. */
export const secretVariableOf = (key: SettingKey): string | undefined =>
  settingOf(key).presence === 'secret' ? variableOf(key.replace(/-file$/, '')) : undefined;

/** The default of a setting for people: as an operator would write it, or what it depends on. */
export function defaultShown(setting: Setting): string {
  if (setting.presence !== 'required') return setting.shown;
  return typeof setting.defaultText === 'string' ? setting.defaultText : setting.defaultText.shown;
}
