/**
 * The third step: a TLS handshake. It goes on with a certificate that is not trusted, so that trust, name and protocol can
 * each be told; nothing is ever sent over such a connection.
 */
import type { X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import tls from 'node:tls';
import type { FaultCode } from './findings.ts';
import { FOREIGN_TEXT_LENGTH_MAX } from './limits.ts';
import { type Check, faulty, passed } from './report.ts';
import { outcomeOf } from './step.ts';

/** How the other side proves who it is. */
export interface Proof {
  /** What its certificate must name. */
  readonly serverName: string;
  /** PEM certificates that may have signed it. */
  readonly roots: readonly string[];
}

/** A connection over which something may be said. */
export interface Secured {
  readonly socket: tls.TLSSocket;
  readonly certificate: X509Certificate;
}

export interface Handshake {
  /** `tls`, and `server-name` where there is a certificate. */
  readonly checks: readonly Check[];
  /** Absent: something failed. */
  readonly value?: Secured;
}

/** Secures a connection; the caller owns both. */
export async function openTls(tcp: Socket, { serverName, roots }: Proof, signal: AbortSignal): Promise<Handshake> {
  const socket = tls.connect({
    socket: tcp,
    servername: serverName,
    ca: [...roots],
    ALPNProtocols: ['h2'],
    rejectUnauthorized: false,
    // Told by itself below.
    checkServerIdentity: () => undefined,
  });
  const outcome = await outcomeOf(once(socket, 'secureConnect', { signal }), signal);
  socket.on('error', () => undefined);
  if (outcome.kind === 'timed-out') return { checks: [faulty('tls-timed-out')] };
  if (outcome.kind === 'failed') return { checks: [faulty(handshakeFault(outcome.error), outcome.error.message)] };
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return { checks: [faulty('tls-not-trusted', 'it showed no certificate')] };
  const trust = checkTrust(socket, certificate);
  const name = checkName(serverName, certificate);
  const checks = [trust, name];
  return checks.some(({ Status }) => Status === 'failed') ? { checks } : { checks, value: { socket, certificate } };
}

/** What a failed handshake was about, by the codes of Node and OpenSSL. */
function handshakeFault({ code = '' }: NodeJS.ErrnoException): FaultCode {
  if (code === 'ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL') return 'tls-no-http2';
  if (code.includes('ALERT')) return 'tls-refused';
  if (code === 'ECONNRESET' || code === 'EPIPE' || code === 'ERR_SSL_UNEXPECTED_EOF_WHILE_READING') return 'tls-closed';
  return 'tls-none';
}

function checkTrust(socket: tls.TLSSocket, certificate: X509Certificate): Check {
  const until = certificate.validToDate.toISOString();
  const reason: unknown = socket.authorizationError;
  if (!socket.authorized) {
    if (reason === 'CERT_HAS_EXPIRED') return faulty('tls-expired', `it was valid until ${until}`);
    if (reason === 'CERT_NOT_YET_VALID')
      return faulty('tls-not-yet-valid', `it is valid from ${certificate.validFromDate.toISOString()}`);
    return faulty('tls-not-trusted', `${reason}; it was issued by ${oneLine(certificate.issuer)}`);
  }
  // Some servers speak HTTP/2 and never say so (those of Consul 1.20, for one): the next step tells.
  const unsaid = socket.alpnProtocol === 'h2' ? '' : ', nothing said of HTTP/2';
  return passed('tls', `${socket.getProtocol()}, certificate valid until ${until}${unsaid}`);
}

function checkName(serverName: string, certificate: X509Certificate): Check {
  if (certificate.checkHost(serverName, { subject: 'never' }) !== undefined) return passed('server-name', serverName);
  const named = certificate.subjectAltName?.slice(0, FOREIGN_TEXT_LENGTH_MAX) ?? 'nothing';
  return faulty('server-name-wrong', `want DNS:${serverName}, got ${named}`);
}

/** Names in certificates have a line for each part. */
const oneLine = (name: string): string => name.slice(0, FOREIGN_TEXT_LENGTH_MAX).replaceAll('\n', ', ');
