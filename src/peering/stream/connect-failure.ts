/** Why a server of another cluster could not be reached, in words that tell the reader where to look. */
import { Code, ConnectError } from '@connectrpc/connect';
import { DeadlineError } from '../../state/clock/deadline.ts';
import { bounded } from './wire/messages.ts';

const UNTRUSTED = 'its certificate is not signed by the cluster that made the token';

/** As a connection ends whose other end has died, or was cut off. */
const CUT = 'closed without a goodbye';

/** By the codes of Node.js and OpenSSL. */
const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EPIPE: 'connection reset',
  ERR_STREAM_PREMATURE_CLOSE: CUT,
  ETIMEDOUT: 'connection timed out',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  ENOTFOUND: 'no such host',
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

/** How Connect says that a stream was reset, by the other side or by the end of its connection. */
const RESET = /^http\/2 stream closed with error code ([A-Z0-9_]+)/;

/** Causes of causes that are looked at. */
const DEPTH_MAX = 8;

/** One line, without secrets. @param error of a call to a peer: a ConnectError with its causes, or a DeadlineError */
export function connectFailure(error: unknown): string {
  const known = knownFailure(error);
  if (known !== undefined) return known;
  const { code, rawMessage } = ConnectError.from(error);
  return bounded(`${Code[code]}: ${rawMessage}`);
}

/** Undefined: it is none of those that are known by a code. */
export function knownFailure(error: unknown): string | undefined {
  let cause = error;
  for (let depth = 0; depth < DEPTH_MAX && cause instanceof Error; depth += 1) {
    if (cause instanceof DeadlineError) return 'no answer in time';
    const words = 'code' in cause && typeof cause.code === 'string' ? WORDS[cause.code] : undefined;
    if (words !== undefined) return words;
    const reset = cause instanceof ConnectError && !cause.isWireError ? RESET.exec(cause.rawMessage)?.[1] : undefined;
    if (reset !== undefined) return reset === 'CANCEL' ? CUT : `cut with the HTTP/2 error ${reset}`;
    cause = cause instanceof AggregateError ? cause.errors[0] : cause.cause;
  }
  return undefined;
}
