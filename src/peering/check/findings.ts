/**
 * The findings of a connection check, each with its check, cause and remedy. The codes are part of the API.
 * docs/peering.md contains this table, and a test compares the two.
 */

/** The checks, in the order of the report. */
export const CHECK_IDS = [
  'role',
  'token',
  'stream',
  'advertise',
  'dns',
  'tcp',
  'tls',
  'server-name',
  'grpc',
  'version',
  'clock',
] as const;
export type CheckId = (typeof CHECK_IDS)[number];

export interface Finding {
  readonly id: CheckId;
  /** Whether the peering can connect in spite of the finding. */
  readonly warning?: true;
  readonly cause: string;
  readonly remedy: string;
}

const NEW_TOKEN = 'generate a new token in the other cluster and establish the peering again';
const ANOTHER_CLUSTER = 'if it is a new cluster, delete the peering and establish a new one with its token';
const PASS_THROUGH = 'configure load balancers and proxies to pass TCP through to the port of peering.address there';

const FINDINGS = {
  'token-invalid': {
    id: 'token',
    cause: 'the peering token cannot be decoded',
    remedy: 'copy the whole token again; if the problem remains, generate a new token',
  },
  'token-own-cluster': {
    id: 'token',
    cause: 'this cluster generated the peering token',
    remedy: 'establish the peering in the other cluster, or generate the token there',
  },
  'token-missing': {
    id: 'token',
    cause: 'the peering has no unused token, and no token was used before',
    remedy: 'generate a token here and establish the peering in the other cluster with it',
  },
  'token-expired': {
    id: 'token',
    cause: 'the peering token expired before it was used',
    remedy: 'generate a token here and establish the peering in the other cluster with it',
  },
  'stream-failing': {
    id: 'stream',
    cause: 'no stream is open',
    remedy: 'fix the other findings; for an accepting peering, run the check in the other cluster, which dials',
  },
  'stream-secret-refused': {
    id: 'stream',
    cause:
      'the other cluster rejects the secret of this peering: a newer token was used there, or one of the two clusters was restored from an older backup',
    remedy: `${NEW_TOKEN}, under the existing names on both sides`,
  },
  'stream-unknown-there': {
    id: 'stream',
    cause:
      'the other cluster does not know this peering: it was deleted there long ago, or that cluster was restored from an older backup',
    remedy: `${NEW_TOKEN}, under the existing name here; or delete the peering here`,
  },
  'link-missing': {
    id: 'stream',
    cause: 'this cluster has no secret to open a stream with, because it was started from an export without secrets',
    remedy: `${NEW_TOKEN}, under the existing names on both sides`,
  },
  'stream-not-yet': {
    id: 'stream',
    warning: true,
    cause: 'no stream has been opened yet',
    remedy: 'wait a moment, then run the check in the cluster that dials',
  },
  'deleted-here': {
    id: 'stream',
    cause: 'the peering was deleted in this cluster',
    remedy: 'delete the peering in the other cluster too, or establish a new one with a new token',
  },
  'deleted-there': {
    id: 'stream',
    cause: 'the peering was deleted in the other cluster',
    remedy: 'delete the peering here too, or establish a new one with a new token',
  },
  'advertise-loopback': {
    id: 'advertise',
    warning: true,
    cause: 'this cluster advertises a loopback address, which only clusters on this machine can reach',
    remedy: 'set peering.advertise, or generate the token with --external-address, and use the new token',
  },
  'dns-not-found': {
    id: 'dns',
    cause: 'the name does not exist in DNS, as seen by this server',
    remedy: 'add the name to DNS, or generate a new token with an address that this server can resolve',
  },
  'dns-unavailable': {
    id: 'dns',
    cause: 'the DNS resolver reports a temporary failure',
    remedy: 'make sure that this server reaches its DNS resolver, then check again',
  },
  'dns-timed-out': {
    id: 'dns',
    cause: 'the DNS resolver did not answer in time',
    remedy: 'make sure that this server reaches its DNS resolver, then check again',
  },
  'tcp-denied': {
    id: 'tcp',
    cause: 'this server does not connect to the network of that address',
    remedy: 'generate a new token with another address, or take the network out of peering.deny-networks',
  },
  'tcp-refused': {
    id: 'tcp',
    cause: 'no server listens at that address and port',
    remedy:
      'start the server there; make sure that peering.address there has this port, or that the port is forwarded to it',
  },
  'tcp-unreachable': {
    id: 'tcp',
    cause: 'this server has no route to that address',
    remedy: 'fix routes or firewalls between the clusters, or generate a new token with a reachable address',
  },
  'tcp-timed-out': {
    id: 'tcp',
    cause: 'that address does not answer',
    remedy:
      'open the port in every firewall between the clusters; make sure that the machine is running and the address is right',
  },
  'tcp-failed': {
    id: 'tcp',
    cause: 'the connection failed',
    remedy: 'see the detail, which is the error of the operating system',
  },
  'tls-unproven': {
    id: 'tls',
    cause: 'no server that belongs to the cluster of the token answers at that address',
    remedy:
      'make sure that the address is right and that this server reaches it; a check of an established peering by a token with peering:write for every name tells more',
  },
  'tls-none': {
    id: 'tls',
    cause: 'the server at that address does not speak TLS',
    remedy: 'use the port of peering.address there, which is not the port of the HTTP API',
  },
  'tls-closed': {
    id: 'tls',
    cause: 'the connection was closed during the TLS handshake',
    remedy: `start the server there; ${PASS_THROUGH}`,
  },
  'tls-refused': {
    id: 'tls',
    cause: 'the other side rejected the TLS handshake',
    remedy: PASS_THROUGH,
  },
  'tls-timed-out': {
    id: 'tls',
    cause: 'the server accepted the connection but did not answer the TLS handshake',
    remedy: `make sure that the server there is healthy; ${PASS_THROUGH}`,
  },
  'tls-not-trusted': {
    id: 'tls',
    cause: 'the certificate is not from the cluster that generated the token',
    remedy: `make sure that nothing between the clusters terminates TLS; if that cluster has replaced its CA root, ${NEW_TOKEN}; ${ANOTHER_CLUSTER}`,
  },
  'tls-expired': {
    id: 'tls',
    cause: 'the certificate has expired by the clock of this server',
    remedy: 'correct the clocks of both clusters; then see the log of the other cluster, which renews its certificate',
  },
  'tls-not-yet-valid': {
    id: 'tls',
    cause: 'the certificate is not valid yet by the clock of this server',
    remedy: 'correct the clocks of both clusters',
  },
  'tls-no-http2': {
    id: 'tls',
    cause: 'TLS works, but without HTTP/2 (ALPN h2)',
    remedy: PASS_THROUGH,
  },
  'server-name-wrong': {
    id: 'server-name',
    cause: 'the certificate is for another server name than the one expected',
    remedy: `make sure that the address belongs to the right cluster; ${ANOTHER_CLUSTER}`,
  },
  'grpc-no-peering': {
    id: 'grpc',
    cause: 'the server at that address is not a peering service',
    remedy: PASS_THROUGH,
  },
  'grpc-timed-out': {
    id: 'grpc',
    cause: 'the connection works, but the server did not answer the call in time',
    remedy: 'see the log and the load of the server there',
  },
  'grpc-failed': {
    id: 'grpc',
    cause: 'the peering service returned an error',
    remedy: 'see the detail, and the log of the server there',
  },
  'grpc-elsewhere': {
    id: 'grpc',
    warning: true,
    cause: 'this server of the other cluster cannot serve the peering now, but another one can',
    remedy: 'nothing, while another address works',
  },
  'version-old': {
    id: 'version',
    cause: 'the other cluster runs a version that is too old to peer with',
    remedy: 'upgrade the other cluster',
  },
  'clock-off': {
    id: 'clock',
    warning: true,
    cause: 'the clocks of the two clusters differ by more than a minute',
    remedy: 'synchronize the clocks (NTP) of both clusters',
  },
  'clock-far': {
    id: 'clock',
    cause: 'the clocks differ so much that certificates of one cluster are not valid in the other',
    remedy: 'synchronize the clocks (NTP) of both clusters',
  },
} as const satisfies Readonly<Record<string, Finding>>;

export type FindingCode = keyof typeof FINDINGS;

export const findingOf = (code: FindingCode): Finding => FINDINGS[code];

/** All codes, for the API schema and the test of the documentation. */
export const findingCodes = Object.keys(FINDINGS) as readonly FindingCode[];
