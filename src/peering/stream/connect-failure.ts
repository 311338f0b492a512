/** The texts of failed calls to a peer, which tell an operator where to look. */
import { Code, ConnectError } from '@connectrpc/connect';
import { DeadlineError } from '../../state/clock/deadline.ts';
import { boundedLine } from './wire/messages.ts';

const UNTRUSTED = 'its certificate is not signed by the cluster that generated the token';

/** The peer has crashed, or the network has closed the connection. */
const CLOSED_UNEXPECTEDLY = 'closed unexpectedly';

/** By error codes of Node.js and OpenSSL. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EPIPE: 'connection reset',
  ERR_STREAM_PREMATURE_CLOSE: CLOSED_UNEXPECTEDLY,
  ETIMEDOUT: 'connection timed out',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  ENOTFOUND: 'no such host',
  ERR_ADDRESS_DENIED: 'its address is in a network of peering.deny-networks',
  EAI_AGAIN: 'its name cannot be resolved now',
  EPROTO: 'it does not speak TLS',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS',
  ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL: 'it does not speak HTTP/2',
  ERR_HTTP2_ERROR: 'it does not speak HTTP/2',
  ERR_TLS_CERT_ALTNAME_INVALID: 'its certificate is for another server name',
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet',
  SELF_SIGNED_CERT_IN_CHAIN: UNTRUSTED,
  DEPTH_ZERO_SELF_SIGNED_CERT: UNTRUSTED,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: UNTRUSTED,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: UNTRUSTED,
  CERT_SIGNATURE_FAILURE: UNTRUSTED,
};

/** Connect's message for a stream that was reset, by the peer or because its connection was closed. */
const RESET_MESSAGE = /^http\/2 stream closed with error code ([A-Z0-9_]+)/;

/** Bounds the search, because a chain of causes can be a cycle. */
const CAUSE_DEPTH_MAX = 8;

/** The reason is one line without secrets. @param error the ConnectError or DeadlineError of a call to a peer */
export function connectFailureReason(error: unknown): string {
  const known = knownFailureReason(error);
  if (known !== undefined) return known;
  const { code, rawMessage } = ConnectError.from(error);
  return boundedLine(`${Code[code]}: ${rawMessage}`);
}

/** Returns the reason if `error` or one of its causes has a known code. */
export function knownFailureReason(error: unknown): string | undefined {
  let cause = error;
  for (let depth = 0; depth < CAUSE_DEPTH_MAX && cause instanceof Error; depth += 1) {
    if (cause instanceof DeadlineError) return 'no answer in time';
    const reason = 'code' in cause && typeof cause.code === 'string' ? REASONS[cause.code] : undefined;
    if (reason !== undefined) return reason;
    const reset =
      cause instanceof ConnectError && !cause.isWireError ? RESET_MESSAGE.exec(cause.rawMessage)?.[1] : undefined;
    if (reset === 'CANCEL') return CLOSED_UNEXPECTEDLY;
    if (reset !== undefined) return `stream reset with the HTTP/2 error ${reset}`;
    cause = cause instanceof AggregateError ? cause.errors[0] : cause.cause;
  }
  return undefined;
}
