/**
 * Everything that a connection check can find wrong: which check finds it, what it means, and what to do. The codes are
 * part of the API; docs/peering.md shows this table, and a test compares the two.
 */

/** The checks, in the order in which they are made and shown. */
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

export interface Fault {
  readonly id: CheckId;
  /** It does not keep the peering from connecting. */
  readonly warning?: true;
  readonly cause: string;
  readonly mend: string;
}

const NEW_TOKEN = 'generate a new token in the other cluster and establish the peering again';
const ANOTHER_CLUSTER = 'if that is a new cluster, delete the peering and begin with a token of it';
const PASS_THROUGH = 'let load balancers and proxies on the way pass TCP through to the port of peering.address there';

const FAULTS = {
  'token-invalid': {
    id: 'token',
    cause: 'the peering token cannot be read',
    mend: 'copy it again, whole; if it stays so, generate a new one',
  },
  'token-own-cluster': {
    id: 'token',
    cause: 'the peering token was made by this very cluster',
    mend: 'establish the peering in the other cluster, or generate the token there',
  },
  'token-missing': {
    id: 'token',
    cause: 'no peering token waits to be used, and none was used',
    mend: 'generate a token here and establish the peering in the other cluster with it',
  },
  'token-expired': {
    id: 'token',
    cause: 'the peering token has expired before it was used',
    mend: 'generate a token here and establish the peering in the other cluster with it',
  },
  'stream-failing': {
    id: 'stream',
    cause: 'there is no stream',
    mend: 'mend what else fails here; for an accepting peering, check it in the other cluster, which dials',
  },
  'stream-secret-refused': {
    id: 'stream',
    cause:
      'the other cluster does not take the secret of this peering: a newer token was used there, or one of the two was restored from an older backup',
    mend: `${NEW_TOKEN}, both under the names that it has`,
  },
  'stream-unknown-there': {
    id: 'stream',
    cause:
      'the other cluster does not know this peering: it was deleted there long ago, or that cluster was restored from an older backup',
    mend: `${NEW_TOKEN}, here under the name that it has; or delete it here`,
  },
  'link-missing': {
    id: 'stream',
    cause: 'there is no secret here to open a stream with: this cluster was started from an export without secrets',
    mend: `${NEW_TOKEN}, both under the names that it has`,
  },
  'stream-not-yet': {
    id: 'stream',
    warning: true,
    cause: 'there was no stream yet',
    mend: 'wait a moment; then check the peering in the cluster that dials',
  },
  'deleted-here': {
    id: 'stream',
    cause: 'the peering was deleted in this cluster',
    mend: 'delete it in the other cluster too, or begin anew with a new token',
  },
  'deleted-there': {
    id: 'stream',
    cause: 'the peering was deleted in the other cluster',
    mend: 'delete it here too, or begin anew with a new token',
  },
  'advertise-loopback': {
    id: 'advertise',
    warning: true,
    cause: 'an address in the tokens of this cluster is loopback: only clusters on this machine reach it',
    mend: 'set peering.advertise, or generate the token with --external-address, and use the new token',
  },
  'dns-not-found': {
    id: 'dns',
    cause: 'the name does not exist in DNS, as this server sees it',
    mend: 'add the name to DNS, or generate a new token with an address that this server can resolve',
  },
  'dns-unavailable': {
    id: 'dns',
    cause: 'DNS gave no answer for now',
    mend: 'see that this server reaches its DNS resolver, and check again',
  },
  'dns-timed-out': {
    id: 'dns',
    cause: 'DNS did not answer in time',
    mend: 'see that this server reaches its DNS resolver, and check again',
  },
  'tcp-refused': {
    id: 'tcp',
    cause: 'nothing listens at that address and port',
    mend: 'start the server there; see that peering.address there has this port, or what forwards to it',
  },
  'tcp-unreachable': {
    id: 'tcp',
    cause: 'no way leads from this server to that address',
    mend: 'mend routes or firewall between the clusters, or generate a new token with an address that can be reached',
  },
  'tcp-timed-out': {
    id: 'tcp',
    cause: 'that address does not answer',
    mend: 'let the port through every firewall on the way; see that the machine is up and the address is right',
  },
  'tcp-failed': {
    id: 'tcp',
    cause: 'no connection could be made',
    mend: "see the detail, which is in the system's words",
  },
  'tls-none': {
    id: 'tls',
    cause: 'what answers there does not speak TLS',
    mend: 'use the port of peering.address there; the HTTP API has another',
  },
  'tls-closed': {
    id: 'tls',
    cause: 'the connection was closed during the TLS handshake',
    mend: `start the server there; ${PASS_THROUGH}`,
  },
  'tls-refused': {
    id: 'tls',
    cause: 'the other side refused the TLS handshake',
    mend: PASS_THROUGH,
  },
  'tls-timed-out': {
    id: 'tls',
    cause: 'the connection was accepted, and then nothing was said',
    mend: `see that the server there is up and well; ${PASS_THROUGH}`,
  },
  'tls-not-trusted': {
    id: 'tls',
    cause: 'the certificate is not one of the cluster that made the token',
    mend: `let nothing on the way end TLS; if that cluster has replaced its root meanwhile, ${NEW_TOKEN}; ${ANOTHER_CLUSTER}`,
  },
  'tls-expired': {
    id: 'tls',
    cause: 'the certificate has expired, by the clock here',
    mend: 'set the clocks of both clusters right; then see the log of the other cluster, which renews its certificate',
  },
  'tls-not-yet-valid': {
    id: 'tls',
    cause: 'the certificate is not valid yet, by the clock here',
    mend: 'set the clocks of both clusters right',
  },
  'tls-no-http2': {
    id: 'tls',
    cause: 'TLS works, without HTTP/2 (ALPN h2)',
    mend: PASS_THROUGH,
  },
  'server-name-wrong': {
    id: 'server-name',
    cause: 'the certificate is for another server name than the peering asks for',
    mend: `see that the address leads to the right cluster; ${ANOTHER_CLUSTER}`,
  },
  'grpc-no-peering': {
    id: 'grpc',
    cause: 'what answers there is no peering service',
    mend: PASS_THROUGH,
  },
  'grpc-timed-out': {
    id: 'grpc',
    cause: 'the connection works, and no answer came in time',
    mend: 'see the log and the load of the server there',
  },
  'grpc-failed': {
    id: 'grpc',
    cause: 'the peering service answered with an error',
    mend: 'see the detail, and the log of the server there',
  },
  'grpc-elsewhere': {
    id: 'grpc',
    warning: true,
    cause: 'this server of the other cluster cannot serve the peering now; another one can',
    mend: 'nothing, as long as another address works',
  },
  'version-old': {
    id: 'version',
    cause: 'the other cluster runs a version that is too old to peer with',
    mend: 'upgrade the other cluster',
  },
  'clock-off': {
    id: 'clock',
    warning: true,
    cause: 'the clocks of the two clusters differ by more than a minute',
    mend: 'synchronize the clocks (NTP) of both clusters',
  },
  'clock-far': {
    id: 'clock',
    cause: 'the clocks differ so much that certificates which one cluster makes are not valid for the other',
    mend: 'synchronize the clocks (NTP) of both clusters',
  },
} as const satisfies Readonly<Record<string, Fault>>;

export type FaultCode = keyof typeof FAULTS;

/** What a code means. */
export const faultOf = (code: FaultCode): Fault => FAULTS[code];

/** Every code, for tests and documents that must name them all. */
export const faultCodes = Object.keys(FAULTS) as readonly FaultCode[];
